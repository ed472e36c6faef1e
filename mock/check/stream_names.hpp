// SPDX-License-Identifier: Apache-2.0
// The streams that a checker has seen, by handle, and what it calls them.
#pragma once

#include <cuda.h>
#include <cushim/check/place.hpp>

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "order.hpp"

namespace cushim::check {

// How a call names its stream.
struct StreamRef {
  CUstream handle = nullptr;
  bool is_per_thread_call = false;  // whether the null stream means the thread's own
  ContextKey current = nullptr;     // the context that the null stream and its like are of
  unsigned long thread = 0;         // which of the program's threads calls

  bool is_legacy() const noexcept {
    return handle == CU_STREAM_LEGACY || (handle == nullptr && !is_per_thread_call);
  }
  bool is_threads_own() const noexcept {
    return handle == CU_STREAM_PER_THREAD || (handle == nullptr && is_per_thread_call);
  }
  bool is_named() const noexcept { return !is_legacy() && !is_threads_own(); }
};

class StreamNames {
 public:
  explicit StreamNames(Order &order) : order_(order) {}

  // Of a stream that the program made.
  void made(CUstream handle, ContextKey context, bool is_blocking);
  void destroyed(CUstream handle);
  void context_ended(ContextKey context);
  bool knows(CUstream handle) const { return made_.contains(handle); }

  // The lane of a stream; one of a handle that nobody made gets a lane of its own in the current context.
  Lane lane(const StreamRef &stream);

  // Of the stream that has the lane now. Numbers are never given again.
  unsigned long number(Lane lane) const { return numbers_[lane]; }
  // "stream 2 (0x55d0)", "the legacy stream".
  const std::string &words(unsigned long number) const { return words_[number]; }

 private:
  Lane open(ContextKey context, Order::Kind kind, std::string words);
  std::string of_context(ContextKey context);

  Order &order_;
  std::unordered_map<CUstream, Lane> made_;
  std::map<ContextKey, Lane> legacy_;
  std::map<std::pair<ContextKey, unsigned long>, Lane> threads_own_;
  std::map<ContextKey, unsigned long> contexts_;
  std::vector<unsigned long> numbers_;  // by lane
  std::vector<std::string> words_;      // by number
  unsigned long count_made_ = 0;
  unsigned long count_contexts_ = 0;
};

// "0x7f00".
std::string hex(std::uint64_t number);

}  // namespace cushim::check
