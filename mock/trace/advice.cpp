// SPDX-License-Identifier: Apache-2.0
// The rules of advice. Each needs evidence of a number of calls, so that a program's start gives none.
#include <cushim/driver.hpp>

#include <map>
#include <string>

#include "json_text.hpp"
#include "usage.hpp"

namespace cushim::trace {
namespace {

constexpr std::uint64_t kMuchCopied = std::uint64_t{1} << 20;
constexpr unsigned long kOften = 10;
// The advice about waits applies if the program submits at most this many operations between two waits, on
// average.
constexpr unsigned long kFewOperations = 4;

std::string first_call(const Call &call) {
  return std::string("; first ") + cushim_entry(call.slot)->symbol + " at " + seconds(call.begin) + " s";
}

void find_pageable_copies(const Usage &usage, std::vector<Advice> &all) {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  const Call *first = nullptr;
  for (const Copy &copy : usage.copies) {
    if (!copy.is_pageable) continue;
    if (first == nullptr) first = copy.call;
    bytes += copy.bytes;
    ++count;
  }
  if (bytes >= kMuchCopied)
    all.push_back({"pageable-copy",
                   std::to_string(count) + " copies of " + std::to_string(bytes) +
                       " bytes from or to pageable memory" + first_call(*first),
                   "allocate the host memory by cuMemHostAlloc, or register it by cuMemHostRegister"});
}

void find_waits(const Usage &usage, std::vector<Advice> &all) {
  if (usage.waits.size() < kOften || usage.operations > usage.waits.size() * kFewOperations) return;
  std::int64_t time = 0;
  for (const Call *const wait : usage.waits) time += duration(*wait);
  all.push_back({"synchronize-in-loop",
                 std::to_string(usage.waits.size()) + " waits for " + std::to_string(usage.operations) +
                     " operations, " + std::to_string(time / 1000) + " us in all" +
                     first_call(*usage.waits.front()),
                 "wait once after several operations; use events for an order between streams"});
}

void find_allocations(const Usage &usage, std::vector<Advice> &all) {
  struct Same {
    unsigned long freed = 0;
    const Call *first = nullptr;
  };
  std::map<std::pair<int, std::uint64_t>, Same> by_size;
  for (const Allocation &allocation : usage.allocations) {
    Same &same = by_size[{allocation.call->slot, allocation.bytes}];
    if (same.first == nullptr) same.first = allocation.call;
    if (allocation.freed) ++same.freed;
  }
  for (const auto &[key, same] : by_size)
    if (same.freed >= kOften)
      all.push_back({"allocate-in-loop",
                     std::to_string(same.freed) + " times " + std::to_string(key.second) +
                         " bytes were allocated and freed" + first_call(*same.first),
                     "keep the memory, or use cuMemAllocAsync, which reuses it"});
}

void find_unread_events(const Usage &usage, std::vector<Advice> &all) {
  unsigned long records = 0, events = 0;
  const Call *first = nullptr;
  for (const Event &event : usage.events) {
    if (!event.is_timed || event.is_read || event.records == 0) continue;
    if (first == nullptr) first = event.created;
    records += event.records;
    ++events;
  }
  if (records >= kOften)
    all.push_back({"unread-timed-event",
                   std::to_string(events) + " events with timing were recorded " + std::to_string(records) +
                       " times, and their time was never read" + first_call(*first),
                   "create them with CU_EVENT_DISABLE_TIMING"});
}

void find_default_stream(const Usage &usage, std::vector<Advice> &all) {
  const StreamUse *legacy = nullptr;
  std::size_t others = 0;
  for (const StreamUse &stream : usage.streams) {
    if (stream.name == "legacy stream")
      legacy = &stream;
    else
      ++others;
  }
  if (legacy != nullptr && legacy->operations >= kOften && others != 0)
    all.push_back({"default-stream",
                   std::to_string(legacy->operations) + " operations in the legacy stream, beside " +
                       std::to_string(others) + " other stream" + (others == 1 ? "" : "s") +
                       first_call(*legacy->first),
                   "use a stream for each independent sequence of work, or streams that do not block"});
}

}  // namespace

std::vector<Advice> advice_of(const Usage &usage) {
  std::vector<Advice> all;
  find_pageable_copies(usage, all);
  find_waits(usage, all);
  find_allocations(usage, all);
  find_unread_events(usage, all);
  find_default_stream(usage, all);
  return all;
}

std::vector<Advice> advice(const Trace &trace) { return advice_of(usage_of(trace)); }

}  // namespace cushim::trace
