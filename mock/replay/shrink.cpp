// SPDX-License-Identifier: Apache-2.0
#include <cushim/replay/shrink.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "call_text.hpp"

namespace cushim::replay {
namespace {

using Calls = std::vector<std::size_t>;

bool is_error(CUresult result) { return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY; }

const Difference *difference_of(const Report &report, std::size_t call) {
  const auto found = std::ranges::find(report.differences, call, &Difference::call);
  return found != report.differences.end() ? &*found : nullptr;
}

class Shrinker {
 public:
  Shrinker(const Recording &recording, const PlayOnNewDriver &play, const ShrinkOptions &options)
      : recording_(recording), play_(play), options_(options) {}

  Shrunk run() {
    find_target();
    Calls calls(target_ + 1);
    for (std::size_t i = 0; i < calls.size(); ++i) calls[i] = i;
    if (!keeps(calls))
      throw ShrinkError(name_of_target() + " does not show the same if only the calls before it are made");
    remove_chunks();
    Shrunk shrunk{.calls = calls_, .difference = wanted_};
    shrunk.is_on_one_thread = keeps(calls_, true);
    shrunk.replays = replays_;
    return shrunk;
  }

 private:
  std::string name_of_target() const {
    return "call " + std::to_string(target_) + " (" + cushim_entry(recording_.calls()[target_].slot)->symbol +
           ")";
  }

  Report replay(const Calls *calls, bool on_one_thread) {
    PlayOptions options{
        .ignored = options_.ignored, .patience = options_.patience, .on_one_thread = on_one_thread};
    if (calls != nullptr) options.calls = *calls;
    ++replays_;
    return play_(options);
  }

  void find_target() {
    if (options_.call && *options_.call >= recording_.calls().size())
      throw ShrinkError("the recording has no call " + std::to_string(*options_.call) + ", only " +
                        std::to_string(recording_.calls().size()) + " calls");
    const Report report = replay(nullptr, false);
    for (const Difference &difference : report.differences)
      if (difference.what == "result") known_.insert(difference.call);
    const auto is_replayed = [&](std::size_t call) {
      return std::ranges::find(report.calls_not_replayed, call) == report.calls_not_replayed.end();
    };
    std::optional<std::size_t> found = options_.call;
    if (!found && !report.differences.empty()) found = report.differences.front().call;
    for (std::size_t i = 0; i < recording_.calls().size() && !found; ++i)
      if (is_error(recording_.calls()[i].result) && is_replayed(i)) found = i;
    if (!found) throw ShrinkError("no call differs, and none returned an error when it was recorded");
    target_ = *found;
    if (!is_replayed(target_)) throw ShrinkError(name_of_target() + " cannot be replayed");
    if (const Difference *const difference = difference_of(report, target_))
      wanted_ = *difference;
    else if (!is_error(recording_.calls()[target_].result))
      throw ShrinkError(name_of_target() + " does not differ, and returned " +
                        trace::result_name(recording_.calls()[target_].result));
  }

  // Returns whether the last of these calls still shows the difference or error. If so, they become calls_,
  // without those that need an object of a call that is not among them.
  bool keeps(const Calls &calls, bool on_one_thread = false) {
    const Report report = replay(&calls, on_one_thread);
    const bool is_same = shows_the_same(report);
    if (is_same) {
      calls_.clear();
      std::ranges::set_difference(calls, report.calls_not_replayed, std::back_inserter(calls_));
    }
    if (options_.progress) options_.progress(calls_.size(), replays_);
    return is_same;
  }

  bool shows_the_same(const Report &report) const {
    if (report.stuck) return false;
    if (std::ranges::binary_search(report.calls_not_replayed, target_)) return false;
    const bool others_are_equal = std::ranges::all_of(report.differences, [&](const Difference &difference) {
      return difference.call == target_ || difference.what != "result" || known_.contains(difference.call);
    });
    if (!others_are_equal) return false;
    const Difference *const difference = difference_of(report, target_);
    if (!wanted_) return difference == nullptr || difference->what != "result";
    if (difference == nullptr || difference->what != wanted_->what) return false;
    // Handles and addresses differ from run to run.
    const bool has_address = wanted_->replayed.find("0x") != std::string::npos;
    return has_address ||
           (difference->recorded == wanted_->recorded && difference->replayed == wanted_->replayed);
  }

  // Leaves out halves, then quarters and so on, down to single calls, until no single call can be left out.
  void remove_chunks() {
    for (std::size_t size = std::max<std::size_t>(calls_.size() / 2, 1);;) {
      bool was_removed = false;
      // Backwards, since later calls need objects of earlier ones. The last call stays.
      for (std::size_t end = calls_.size() - 1; end > 0;) {
        const std::size_t begin = end > size ? end - size : 0;
        Calls rest = calls_;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                   rest.begin() + static_cast<std::ptrdiff_t>(end));
        if (keeps(rest)) was_removed = true;
        end = std::min(begin, calls_.size() - 1);
      }
      if (size == 1 && !was_removed) return;
      if (size > 1) size = (size + 1) / 2;
    }
  }

  const Recording &recording_;
  const PlayOnNewDriver &play_;
  const ShrinkOptions &options_;
  std::size_t target_ = 0;
  std::optional<Difference> wanted_;
  std::set<std::size_t> known_;  // calls whose result differs with all calls
  Calls calls_;
  std::size_t replays_ = 0;
};

}  // namespace

Shrunk shrink(const Recording &recording, const PlayOnNewDriver &play, const ShrinkOptions &options) {
  return Shrinker(recording, play, options).run();
}

}  // namespace cushim::replay
