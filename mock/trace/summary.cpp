// SPDX-License-Identifier: Apache-2.0
#include <cushim/driver.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "timeline.hpp"
#include "usage.hpp"

namespace cushim::trace {
namespace {

template <class... Values>
std::string formatted(const char *format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

double micro(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }
double mega(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

void write_calls(const Trace &trace, std::ostream &to) {
  struct Calls {
    const char *symbol = nullptr;
    unsigned long count = 0, errors = 0;
    std::int64_t time = 0, longest = 0;
  };
  std::map<int, Calls> by_slot;
  for (const Call &call : trace.calls()) {
    Calls &calls = by_slot[call.slot];
    calls.symbol = cushim_entry(call.slot)->symbol;
    ++calls.count;
    if (call.end && call.result != CUDA_SUCCESS && call.result != CUDA_ERROR_NOT_READY) ++calls.errors;
    calls.time += duration(call);
    calls.longest = std::max(calls.longest, duration(call));
  }
  std::vector<Calls> sorted;
  for (const auto &[slot, calls] : by_slot) sorted.push_back(calls);
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Calls::time);
  to << trace.calls().size() << " calls of " << sorted.size() << " functions by " << trace.threads()
     << " thread" << (trace.threads() == 1 ? "" : "s")
     << "\n\n     total us   calls   mean us    max us  errors\n";
  for (const Calls &one : sorted)
    to << formatted("%13.1f %7lu %9.1f %9.1f %7lu  %s\n", micro(one.time), one.count,
                    micro(one.time) / static_cast<double>(one.count), micro(one.longest), one.errors,
                    one.symbol);
}

void write_copies(const Usage &usage, std::ostream &to) {
  struct Direction {
    unsigned long count = 0;
    std::uint64_t bytes = 0, pageable = 0, synchronous = 0;
    std::int64_t synchronous_time = 0;
  };
  std::map<std::string, Direction> directions;
  for (const Copy &copy : usage.copies) {
    Direction &direction = directions[copy.direction];
    ++direction.count;
    direction.bytes += copy.bytes;
    if (copy.is_pageable) direction.pageable += copy.bytes;
    if (!copy.is_synchronous) continue;
    direction.synchronous += copy.bytes;
    direction.synchronous_time += duration(*copy.call);
  }
  if (directions.empty()) return;
  // An asynchronous call returns before its copy ends, so its time tells no bandwidth.
  to << "\n       copies          MB  pageable MB  GB/s of synchronous calls\n";
  for (const auto &[name, one] : directions) {
    to << formatted("%13lu %11.3f %12.3f ", one.count, mega(one.bytes), mega(one.pageable));
    to << (one.synchronous_time != 0 ? formatted("%10.3f", static_cast<double>(one.synchronous) /
                                                               static_cast<double>(one.synchronous_time))
                                     : std::string("         -"))
       << "  " << name << '\n';
  }
}

// Writes the call stacks whose allocations had most bytes in use at a time.
void write_call_stacks(const Usage &usage, std::int64_t time, std::ostream &to) {
  constexpr std::size_t kMost = 5;
  struct Bytes {
    unsigned long count = 0;
    std::uint64_t bytes = 0;
  };
  std::map<const std::string *, Bytes> by_stack;
  for (const Allocation &one : usage.allocations) {
    const bool is_alive = *one.call->end <= time && (!one.freed || *one.freed > time);
    if (!one.is_of_device || !is_alive || one.call->call_stack == nullptr) continue;
    Bytes &bytes = by_stack[one.call->call_stack];
    ++bytes.count;
    bytes.bytes += one.bytes;
  }
  std::vector<std::pair<const std::string *, Bytes>> sorted(by_stack.begin(), by_stack.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto &one) { return one.second.bytes; });
  if (sorted.size() > kMost) sorted.resize(kMost);
  for (const auto &[stack, bytes] : sorted)
    to << formatted("  %.3f MB of it in %lu allocations at\n", mega(bytes.bytes), bytes.count) << *stack;
}

void write_memory(const Usage &usage, std::ostream &to) {
  if (usage.memory.empty()) return;
  const auto peak = std::ranges::max_element(usage.memory, {}, &MemoryChange::in_use);
  to << "\ndevice memory: " << usage.allocations.size() << " allocations, at most "
     << formatted("%.3f MB in use, at %.6f s; %.3f MB at the end\n", mega(peak->in_use),
                  static_cast<double>(peak->time) / 1e9, mega(usage.memory.back().in_use));
  write_call_stacks(usage, peak->time, to);
}

void write_streams(const Usage &usage, std::ostream &to) {
  if (!usage.streams.empty()) to << "\n   operations\n";
  for (const StreamUse &stream : usage.streams)
    to << formatted("%13lu  ", stream.operations) << stream.name << '\n';
  std::int64_t time = 0;
  for (const Call *const wait : usage.waits) time += duration(*wait);
  to << formatted("\n%zu synchronizations, %.1f us\n", usage.waits.size(), micro(time));
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// Writes how long streams were busy, and the critical path by function.
void write_work(const char *clock, const Timeline &timeline, std::ostream &to) {
  if (timeline.operations.empty()) return;
  const std::vector<PathStep> path = critical_path(timeline.operations, timeline.calls);
  const auto whole = static_cast<double>(path.back().end);
  const Busy busy = busy_time(timeline.operations);
  to << formatted("\n%s: %.1f us; at least one stream busy %.0f %%, two or more %.0f %%\n", clock,
                  whole / 1e3, percent(static_cast<double>(busy.any), whole),
                  percent(static_cast<double>(busy.several), whole));
  struct Steps {
    unsigned long count = 0;
    std::int64_t time = 0;
  };
  std::map<std::string, Steps> by_name;
  std::int64_t gaps = 0;
  for (const PathStep &step : path) {
    const std::optional<int> slot = step.call != nullptr ? step.call->call->slot : step.operation->slot;
    std::string name = slot ? cushim_entry(*slot)->symbol : "operation";
    Steps &steps = by_name[name += step.call != nullptr ? " (call)" : ""];
    ++steps.count;
    steps.time += step.end - step.begin;
    gaps += step.gap;
  }
  std::vector<std::pair<std::string, Steps>> sorted(by_name.begin(), by_name.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto &one) { return one.second.time; });
  to << formatted("critical path: %zu steps, gaps %.1f us\n     total us   steps\n", path.size(),
                  micro(gaps));
  for (const auto &[name, steps] : sorted)
    if (steps.time != 0) to << formatted("%13.1f %7lu  %s\n", micro(steps.time), steps.count, name.c_str());
}

// Writes the time on the device by kernel and function.
void write_gpu_time(const Timeline &timeline, std::ostream &to) {
  if (timeline.operations.empty()) return;
  struct Work {
    unsigned long count = 0;
    std::int64_t time = 0, longest = 0;
  };
  std::map<std::string, Work> by_name;
  for (std::size_t i = 0; i < timeline.operations.size(); ++i) {
    const std::int64_t time = timeline.operations[i].end - timeline.operations[i].begin;
    Work &work = by_name[timeline.names[i]];
    ++work.count;
    work.time += time;
    work.longest = std::max(work.longest, time);
  }
  std::vector<std::pair<std::string, Work>> sorted(by_name.begin(), by_name.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto &one) { return one.second.time; });
  to << "\n       GPU us   calls   mean us    max us\n";
  for (const auto &[name, work] : sorted)
    to << formatted("%13.1f %7lu %9.1f %9.1f  ", micro(work.time), work.count,
                    micro(work.time) / static_cast<double>(work.count), micro(work.longest))
       << name << '\n';
}

}  // namespace

void write_summary(const Trace &trace, std::ostream &to) {
  const Usage usage = usage_of(trace);
  to << trace.program() << " on " << trace.driver() << '\n';
  write_calls(trace, to);
  write_copies(usage, to);
  write_memory(usage, to);
  write_streams(usage, to);
  const Timeline gpu = gpu_timeline(trace, usage);
  write_gpu_time(gpu, to);
  write_work("time of the host, with the GPU", gpu, to);
  if (!trace.operations().empty()) write_work("virtual time", virtual_timeline(trace), to);
  for (const Advice &one : advice_of(usage))
    to << "\nadvice [" << one.rule << "]: " << one.evidence << "\n  " << one.advice << '\n';
}

}  // namespace cushim::trace
