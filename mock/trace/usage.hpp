// SPDX-License-Identifier: Apache-2.0
// The resources that a recorded program used: memory over time, copies by direction, streams, events.
#pragma once

#include <cushim/trace/trace.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cushim/detail/entry_traits.hpp>
#include "call_text.hpp"

namespace cushim::trace {

// A copy whose extent is known.
struct Copy {
  const Call *call = nullptr;
  std::string direction{};  // "host to device"
  std::uint64_t bytes = 0;
  bool is_pageable = false;  // of host memory that the program did not pin
  bool is_synchronous = false;
};

struct MemoryChange {
  std::int64_t time = 0;
  std::uint64_t in_use = 0;  // bytes after the change
};

struct Allocation {
  const Call *call = nullptr;
  std::uint64_t bytes = 0;
  bool is_of_device = false;            // or managed memory
  std::optional<std::int64_t> freed{};  // the time
};

struct Event {
  const Call *created = nullptr;
  bool is_timed = false, is_read = false;
  unsigned long records = 0;
};

struct StreamUse {
  std::string name{};
  unsigned long operations = 0;
  const Call *first = nullptr;
};

struct Usage {
  std::vector<Copy> copies;
  std::vector<MemoryChange> memory;  // of devices, managed memory included
  std::vector<Allocation> allocations;
  std::vector<Event> events;
  std::vector<StreamUse> streams;
  std::vector<const Call *> waits;  // calls whose purpose is to wait
  unsigned long operations = 0;     // calls that enqueue work
};

Usage usage_of(const Trace &trace);

// Returns the name of the stream in which a call enqueues work: "stream#1 \"upload\"", "legacy stream",
// "per-thread stream", or "streams of structures". The call's traits must have a queue.
std::string stream_of_work(const Call &call, const std::vector<Word> &words);
// Returns the name of a stream that a call has as an argument: the null stream is the legacy or the
// per-thread stream.
std::string name_of_stream(const std::string &argument, const Call &call);
// Returns the name of an object without the text that the program gave to it: "stream#1".
std::string_view without_given_name(std::string_view name);

std::vector<Advice> advice_of(const Usage &usage);

// Returns whether the call returned CUDA_SUCCESS.
inline bool has_succeeded(const Call &call) { return call.end && call.result == CUDA_SUCCESS; }

inline std::int64_t duration(const Call &call) { return call.end ? *call.end - call.begin : 0; }

}  // namespace cushim::trace
