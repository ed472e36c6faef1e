// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <cushim/driver.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <cushim/detail/entry_traits.hpp>
#include "call_text.hpp"

namespace cushim::trace {
namespace {

using mock::CopyEngine;
using mock::EntryTraits;

// Returns the text of an argument; empty if there is none of this name.
std::string argument_text(const std::vector<Word> &words, std::string_view name) {
  for (const Word &word : words)
    if (word.name == name) return std::string(without_given_name(word.value));
  return "";
}

// Follows the calls in their order, and finds the operations that waits wait for.
class WaitFinder {
 public:
  explicit WaitFinder(Timeline &timeline) : timeline_(timeline) {
    for (std::size_t i = 0; i < timeline.operations.size(); ++i)
      of_call_[timeline.operations[i].call].push_back(i);
  }

  void follow(const Call &call, const std::vector<Word> &words) {
    if (!has_succeeded(call)) return;
    const EntryTraits &traits = mock::traits_of(call.slot);
    const std::string_view base = traits.base;
    if (base == "cuStreamSynchronize") {
      const std::string stream = name_of_stream(words.at(0).value, call);
      if (const auto last = last_of_stream_.find(without_given_name(stream)); last != last_of_stream_.end())
        add(last->second, call);
    } else if (base == "cuEventSynchronize") {
      if (const auto recorded = recorded_.find(argument_text(words, "hEvent")); recorded != recorded_.end())
        add(recorded->second, call);
    } else if (traits.queue != EntryTraits::Queue::none) {
      // A damaged trace may name an entry point whose types the headers in use lack.
      if (!words.empty()) follow_work(call, traits, words);
    } else if (traits.wait == EntryTraits::Wait::synchronizes) {
      add_last_ended(call);
    }
  }

 private:
  void follow_work(const Call &call, const EntryTraits &traits, const std::vector<Word> &words) {
    const std::string stream(without_given_name(stream_of_work(call, words)));
    const std::vector<std::size_t> &own = of_call_[call.id];
    if (traits.base == "cuStreamWaitEvent") {
      if (const auto recorded = recorded_.find(argument_text(words, "hEvent")); recorded != recorded_.end())
        waiting_[stream].push_back(recorded->second);
    }
    if (!own.empty()) {
      for (const std::size_t operation : waiting_[stream])
        timeline_.waits.push_back({.operation = operation, .waiting = own.front()});
      waiting_[stream].clear();
      last_of_stream_[stream] = own.back();
    }
    if (traits.base.starts_with("cuEventRecord"))
      if (const auto last = last_of_stream_.find(stream); last != last_of_stream_.end())
        recorded_[argument_text(words, "hEvent")] = last->second;
    for (const std::size_t operation : own) enqueued_.push_back(operation);
    // A copy without a stream returns when its work is complete.
    if (traits.wait == EntryTraits::Wait::may_block && !own.empty()) add_if_ended(own.back(), call);
  }

  void add(std::size_t operation, const Call &call) {
    if (const auto found = timeline_.call_by_id.find(call.id); found != timeline_.call_by_id.end())
      timeline_.waits.push_back({.operation = operation, .call = found->second});
  }

  void add_if_ended(std::size_t operation, const Call &call) {
    const auto found = timeline_.call_by_id.find(call.id);
    if (found != timeline_.call_by_id.end() &&
        timeline_.operations[operation].end <= timeline_.calls[found->second].end)
      add(operation, call);
  }

  // Adds the operation that ended last while the call ran.
  void add_last_ended(const Call &call) {
    const auto found = timeline_.call_by_id.find(call.id);
    if (found == timeline_.call_by_id.end()) return;
    const TimedCall &timed = timeline_.calls[found->second];
    std::optional<std::size_t> last;
    for (const std::size_t index : enqueued_) {
      const Operation &operation = timeline_.operations[index];
      if (operation.end > timed.end) continue;
      if (!last || operation.end >= timeline_.operations[*last].end) last = index;
    }
    if (last && timeline_.operations[*last].end > timed.begin) add(*last, call);
    // Operations that have ended cannot be the last of a later wait.
    std::erase_if(enqueued_, [&](std::size_t index) { return timeline_.operations[index].end <= timed.end; });
  }

  Timeline &timeline_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> of_call_;  // operations, by Call::id
  std::vector<std::size_t> enqueued_;                                    // operations that may not have ended
  // Operations by the name of the stream or event: the last one, the one before the record, and those that
  // the next operation of the stream waits for.
  std::map<std::string, std::size_t, std::less<>> last_of_stream_, recorded_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> waiting_;
};

// Returns the kernel that a call launches, by the name by which the program found it, else the call's symbol.
std::string operation_name(const Call &call, const std::vector<Word> &words) {
  const std::string_view base = cushim_entry(call.slot)->base;
  for (const Word &word : words) {
    const std::size_t at = word.value.find('"');
    if (base.starts_with("cuLaunch") && word.name == "f" && at != std::string::npos)
      return word.value.substr(at + 1, word.value.rfind('"') - at - 1);
  }
  return cushim_entry(call.slot)->symbol;
}

std::string engine_name(const Operation &operation) {
  if (operation.copy_engine == CopyEngine::none) return "";
  return "device " + std::to_string(operation.device) +
         (operation.copy_engine == CopyEngine::to_device ? ": copies to the device" : ": copies to the host");
}

void add_engines(Timeline &timeline) {
  std::map<std::string, std::size_t> indexes;
  for (const Operation &operation : timeline.operations)
    if (std::string name = engine_name(operation); !name.empty()) indexes.emplace(std::move(name), 0);
  for (auto &[name, index] : indexes) {
    index = timeline.engine_names.size();
    timeline.engine_names.push_back(name);
  }
  for (const Operation &operation : timeline.operations) {
    const auto found = indexes.find(engine_name(operation));
    timeline.engines.push_back(found != indexes.end() ? std::optional(found->second) : std::nullopt);
  }
}

}  // namespace

Timeline virtual_timeline(const Trace &trace) {
  Timeline timeline{.calls = timed_calls(trace), .operations = trace.operations()};
  for (std::size_t i = 0; i < timeline.calls.size(); ++i)
    timeline.call_by_id.emplace(timeline.calls[i].call->id, i);
  // The machine's numbers of streams become indexes, in order.
  std::map<std::uint64_t, std::size_t> indexes;
  for (const Operation &operation : timeline.operations) indexes.emplace(operation.stream, 0);
  for (auto &[number, index] : indexes) {
    index = timeline.streams.size();
    timeline.streams.push_back("stream " + std::to_string(number));
  }
  std::unordered_map<std::uint64_t, std::size_t> stream_of_call;  // the first operation's, by Call::id
  for (Operation &operation : timeline.operations) {
    operation.stream = indexes.at(operation.stream);
    stream_of_call.emplace(operation.call, operation.stream);
  }
  add_engines(timeline);
  for (const Operation &operation : timeline.operations)
    timeline.names.emplace_back(operation.slot ? cushim_entry(*operation.slot)->symbol : "operation");
  std::unordered_map<std::uint64_t, std::size_t> last_of_call;  // operation, by Call::id
  for (std::size_t i = 0; i < timeline.operations.size(); ++i) last_of_call[timeline.operations[i].call] = i;
  WaitFinder waits(timeline);
  for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
    waits.follow(call, words);
    if (const auto last = last_of_call.find(call.id); last != last_of_call.end())
      timeline.names[last->second] = operation_name(call, words);
    const auto found = stream_of_call.find(call.id);
    const EntryTraits &traits = mock::traits_of(call.slot);
    // The branches of a graph have numbers of their own.
    if (found != stream_of_call.end() && traits.queue == EntryTraits::Queue::stream &&
        traits.base != "cuGraphLaunch" && !words.empty())
      timeline.streams[found->second] = stream_of_work(call, words);
  });
  return timeline;
}

Timeline gpu_timeline(const Trace &trace, const Usage &usage) {
  Timeline timeline;
  for (const Call &call : trace.calls()) {
    if (call.gpu)
      timeline.operations.push_back({.slot = call.slot,
                                     .call = call.id,
                                     .number = timeline.operations.size() + 1,
                                     .begin = call.gpu->begin,
                                     .end = call.gpu->end});
    if (!call.end) continue;
    timeline.call_by_id.emplace(call.id, timeline.calls.size());
    timeline.calls.push_back({&call, call.begin, *call.end});
  }
  if (timeline.operations.empty()) return timeline;
  std::unordered_map<std::uint64_t, std::string> directions;  // of copies, by Call::id
  for (const Copy &copy : usage.copies) directions.emplace(copy.call->id, copy.direction);
  std::map<std::string, std::size_t, std::less<>> streams, engines;  // indexes
  const auto index_of = [](auto &indexes, std::string_view name) {
    return indexes.emplace(name, indexes.size()).first->second;
  };
  WaitFinder waits(timeline);
  std::size_t next = 0;
  for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
    waits.follow(call, words);
    if (!call.gpu) return;
    std::string stream = stream_of_work(call, words);
    // Each thread has one.
    if (stream == "per-thread stream") stream += " of " + trace.thread_name(call.thread);
    const std::size_t index = index_of(streams, without_given_name(stream));
    timeline.streams.resize(streams.size());
    timeline.streams[index] = stream;
    timeline.operations[next++].stream = index;
    timeline.names.push_back(operation_name(call, words));
    const auto copied = directions.find(call.id);
    timeline.engines.push_back(copied != directions.end()
                                   ? std::optional(index_of(engines, "copies " + copied->second))
                                   : std::nullopt);
  });
  timeline.engine_names.resize(engines.size());
  for (const auto &[name, index] : engines) timeline.engine_names[index] = name;
  return timeline;
}

}  // namespace cushim::trace
