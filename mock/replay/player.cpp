// SPDX-License-Identifier: Apache-2.0
#include <cushim/replay/player.hpp>

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "bits.hpp"
#include "created_memory.hpp"
#include "name_pattern.hpp"
#include "played_call.hpp"
#include "recording_format.hpp"
#include "write_host_memory.hpp"

namespace cushim::replay {
namespace {

// Shared with the threads, one of which may hang in the driver when play ends.
class Player : public std::enable_shared_from_this<Player> {
 public:
  Player(const Recording &recording, cushim::Driver &driver, PlayOptions options)
      : calls_(recording.calls()), driver_(driver), options_(std::move(options)) {
    if (options_.calls) {
      played_ = *options_.calls;
    } else {
      played_.resize(calls_.size());
      std::iota(played_.begin(), played_.end(), std::size_t{0});
    }
    replay_.recorded_process = recording.process();
    if (options_.calls) find_memory();
    if (recording.has_export_tables()) find_contexts();
    if (recording.has_host_functions()) find_host_functions();
    if (options_.on_one_thread) {
      threads_.insert(1);
    } else if (options_.calls) {
      for (const std::size_t call : played_) threads_.insert(calls_[call].thread);
    } else {
      for (unsigned thread = 1; thread <= recording.system_threads().size(); ++thread)
        threads_.insert(thread);
    }
  }

  // Makes host functions wait for the calls before them. Not in the constructor, where weak_from_this() is
  // empty.
  void set_order_of_functions() {
    replay_.wait_for = [player = weak_from_this()](std::uint64_t count) {
      const auto self = player.lock();
      if (self == nullptr) return;
      std::unique_lock lock(self->mutex_);
      // Only half of the patience: a call of the replay may wait for this function although the recorded one
      // did not.
      self->changed_.wait_for(lock, self->options_.patience / 2, [&] {
        return self->is_stopped_ || self->next_ == self->played_.size() ||
               self->calls_[self->played_[self->next_]].begin > count;
      });
    };
  }

  // Returns the threads that may have calls, by their numbers.
  const std::set<unsigned> &threads() const noexcept { return threads_; }

  // Makes the calls of one thread, in their order.
  void run(unsigned thread) {
    Scratch scratch;
    std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < played_.size(); ++i) {
      if (thread_of(played_[i]) != thread) continue;
      changed_.wait(lock, [&] { return is_stopped_ || is_turn_of(i); });
      if (is_stopped_) return;
      play(played_[i], lock, scratch);
      changed_.notify_all();
    }
    done_.notify_all();
  }

  // Waits until all calls were made, or one does not return. Returns whether the threads end.
  bool wait() {
    // Not woken by each call: that would take longer than most calls. Looks from time to time whether there
    // were any.
    const auto pause =
        std::min<std::chrono::nanoseconds>(options_.patience / 8, std::chrono::milliseconds(100));
    std::unique_lock lock(mutex_);
    const auto is_done = [&] { return next_ == played_.size() && running_.empty(); };
    std::chrono::nanoseconds without_event{0};
    for (std::size_t events = events_; !done_.wait_for(lock, pause, is_done);) {
      without_event = events_ != events ? std::chrono::nanoseconds(0) : without_event + pause;
      events = events_;
      if (without_event > pause) write_waited_words();
      if (without_event < options_.patience) continue;
      is_stopped_ = true;
      changed_.notify_all();
      if (!running_.empty()) report_.stuck = running_.front();
      return running_.empty();
    }
    return true;
  }

  Report report() {
    const std::lock_guard lock(mutex_);
    std::ranges::sort(report_.differences, {}, &Difference::call);
    Report report = report_;
    for (const auto &[what, count] : not_replayed_)
      report.not_replayed.push_back({what.first, what.second, count});
    for (const auto &[what, count] : partly_replayed_)
      report.partly_replayed.push_back({what.first, what.second, count});
    return report;
  }

 private:
  // Calls begin in the recorded order, and after the calls that had returned before.
  bool is_turn_of(std::size_t position) const {
    return next_ == position && std::ranges::all_of(running_, [&](std::size_t other) {
             return !calls_[other].has_ended() || calls_[other].end > calls_[played_[position]].begin;
           });
  }

  unsigned thread_of(std::size_t call) const { return options_.on_one_thread ? 1 : calls_[call].thread; }

  void play(std::size_t index, std::unique_lock<std::mutex> &lock, Scratch &scratch) {
    const RecordedCall &call = calls_[index];
    ++next_;
    ++events_;
    PlayedCall played(call, replay_, scratch);
    if (auto reason = played.prepare()) {
      ++not_replayed_[{cushim_entry(call.slot)->symbol, std::move(*reason)}];
      report_.calls_not_replayed.push_back(index);
      return;
    }
    if (!played.lacks().empty()) ++partly_replayed_[{cushim_entry(call.slot)->symbol, played.lacks()}];
    running_.push_back(index);
    release_waits();
    changed_.notify_all();
    const std::optional<std::uint64_t> context = hidden_context(index);
    lock.unlock();
    CUresult result = played.make(driver_);
    if (context && played.lacks_context(result) &&
        driver_.cuCtxSetCurrent(reinterpret_cast<CUcontext>(*context)) == CUDA_SUCCESS)
      result = played.make(driver_);
    lock.lock();
    std::erase(running_, index);
    release_waits();
    ++events_;
    ++report_.replayed;
    if (auto difference = played.finish(result, compares_values(call))) {
      difference->call = index;
      report_.differences.push_back(std::move(*difference));
    }
  }

  // Writes the bytes by which the host released a call that is running. Does so only when all calls that had
  // ended before this call have ended, so that no other call runs between.
  void release_waits() {
    for (const std::size_t index : running_) {
      const RecordedCall &waiting = calls_[index];
      const bool others_begin = next_ < played_.size() && calls_[played_[next_]].begin < waiting.end;
      if (others_begin || std::ranges::any_of(running_, [&](std::size_t other) {
            return calls_[other].has_ended() && calls_[other].end < waiting.end;
          }))
        continue;
      for (const Item &item : waiting.after)
        if (item.argument == kReleasingWrite)
          if (char *const to = replay_.mapping.host_memory(item.offset, item.bytes.size()))
            write_host_memory(item.bytes, to);
    }
  }

  // A call waits for longer than a moment: maybe for words that the host of the recorded program wrote.
  // Writes the words that the recorded calls which have begun here found changed.
  void write_waited_words() {
    for (; words_written_ < next_; ++words_written_)
      for (const Item &item : calls_[played_[words_written_]].after)
        if (item.argument == kWaitedWord)
          if (char *const to = replay_.mapping.host_memory(item.offset, item.bytes.size()))
            write_host_memory(item.bytes, to);
  }

  // NVIDIA's runtime library makes contexts current by functions of export tables, which are not recorded.
  // Returns the context that the recorded call then had, as far as calls tell; nullopt without such tables.
  std::optional<std::uint64_t> hidden_context(std::size_t call) const {
    if (contexts_.empty()) return std::nullopt;
    const auto &seen = contexts_.contains(calls_[call].thread) ? contexts_.at(calls_[call].thread)
                                                               : contexts_.begin()->second;
    const auto next = seen.lower_bound(call);
    return replay_.mapping.handle("context", next != seen.end() ? next->second : std::prev(next)->second);
  }

  // Calls that are left out make the memory of others.
  void find_memory() {
    for (const RecordedCall &call : calls_)
      if (const auto memory = memory_created_by(call))
        replay_.mapping.forbid_stand_in(memory->address, memory->size);
  }

  void find_host_functions() {
    for (const RecordedCall &call : calls_)
      for (const Item &item : call.after)
        if (item.argument == kHostFunction) replay_.recorded_functions[item.function].push_back(&item);
  }

  void find_contexts() {
    for (std::size_t i = 0; i < calls_.size(); ++i)
      if (const Item *const item =
              calls_[i].result == CUDA_SUCCESS && replayed_entry(calls_[i].slot).gets_context
                  ? item_of(calls_[i].after, 0)
                  : nullptr;
          item != nullptr && bits_at(item->bytes.data(), item->bytes.size()) != 0)
        contexts_[calls_[i].thread][i] = bits_at(item->bytes.data(), item->bytes.size());
  }

  bool compares_values(const RecordedCall &call) const {
    return !replayed_entry(call.slot).has_varying_values &&
           (options_.ignored.empty() || !matches_any(cushim_entry(call.slot)->base, options_.ignored));
  }

  const std::vector<RecordedCall> &calls_;
  cushim::Driver &driver_;
  const PlayOptions options_;
  std::vector<std::size_t> played_;  // indices of the calls to make
  std::set<unsigned> threads_;
  // By thread and call: contexts that were current, if the program had export tables.
  std::map<unsigned, std::map<std::size_t, std::uint64_t>> contexts_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::condition_variable done_;   // a thread has made its calls
  std::size_t next_ = 0;           // in played_: the next call that begins
  std::size_t events_ = 0;         // begins and ends
  std::size_t words_written_ = 0;  // in played_: the calls whose changed words were written
  bool is_stopped_ = false;
  std::vector<std::size_t> running_;
  Replay replay_;
  std::map<std::pair<std::string, std::string>, unsigned long> not_replayed_, partly_replayed_;
  Report report_;
};

}  // namespace

Report play(const Recording &recording, cushim::Driver &driver, const PlayOptions &options) {
  const auto player = std::make_shared<Player>(recording, driver, options);
  player->set_order_of_functions();
  std::vector<std::thread> threads;
  for (const unsigned number : player->threads())
    threads.emplace_back([player, number] { player->run(number); });
  const bool have_ended = player->wait();
  for (std::thread &thread : threads) have_ended ? thread.join() : thread.detach();
  return player->report();
}

}  // namespace cushim::replay
