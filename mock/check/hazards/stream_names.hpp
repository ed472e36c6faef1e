// SPDX-License-Identifier: Apache-2.0
// Maps stream handles to stream indices, and names streams in reports.
#pragma once

#include <cuda.h>
#include <cushim/check/call_stack.hpp>

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hazards/order.hpp"

namespace cushim::check {

// A stream as a call names it.
struct StreamRef {
  CUstream handle = nullptr;
  bool is_per_thread_call = false;  // whether the null stream is the per-thread stream in this call
  ContextKey current = nullptr;     // the context of the null, legacy and per-thread streams
  unsigned long thread = 0;         // the number of the calling thread

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

  // Registers a stream that the program created.
  void made(CUstream handle, ContextKey context, bool is_blocking);
  void destroyed(CUstream handle);
  void context_ended(ContextKey context);
  bool knows(CUstream handle) const { return made_.contains(handle); }

  // Returns the index of a stream. An unknown handle gets an index of its own in the current context.
  StreamIndex stream_index(const StreamRef &stream);

  // Returns the number of the stream that has this index now. Numbers are never reused.
  unsigned long number(StreamIndex stream_index) const { return numbers_[stream_index]; }
  // Returns the name of the stream in reports: "stream 2 (0x55d0)" or "the legacy stream".
  const std::string &text(unsigned long number) const { return texts_[number]; }

 private:
  StreamIndex open(ContextKey context, Order::Kind kind, std::string text);
  std::string of_context(ContextKey context);

  Order &order_;
  std::unordered_map<CUstream, StreamIndex> made_;
  std::map<ContextKey, StreamIndex> legacy_;
  std::map<std::pair<ContextKey, unsigned long>, StreamIndex> threads_own_;
  std::map<ContextKey, unsigned long> contexts_;
  std::vector<unsigned long> numbers_;  // by stream index
  std::vector<std::string> texts_;      // by number
  unsigned long count_made_ = 0;
  unsigned long count_contexts_ = 0;
};

}  // namespace cushim::check
