// SPDX-License-Identifier: Apache-2.0
// One piece of work in a stream.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cushim::sim {

// Virtual nanoseconds since the machine was made.
using Time = std::int64_t;

struct Operation;
using Work = std::shared_ptr<Operation>;

// What does one operation at a time: a copy engine, the processors of a device.
struct Resource {
  Time free_at = 0;
};

// Bytes that are to be copied; the two may overlap.
struct Move {
  std::byte *to = nullptr;
  const std::byte *from = nullptr;
  std::size_t size = 0;
};

struct Operation {
  // ---- What it is; set by whoever submits it ----
  const char *name = "";        // the call that it came from
  unsigned long stream = 0;     // the stream's id, for reports
  const void *owner = nullptr;  // the context
  Time cost = 0;
  Resource *resource = nullptr;
  std::vector<Work> after{};         // runs when all of these are complete
  std::function<bool()> is_ready{};  // and this, if set, says so: it looks at memory that the host may write
  std::function<std::string()> waits_for{};  // what is_ready looks at, in words
  bool is_engines = false;    // whether only other work of this machine can change what is_ready looks at
  bool is_announced = false;  // whether the engine is told to look again when is_ready may have changed
  std::function<Time()> not_before{};       // when what is_ready waited for happened
  std::function<void(Move &)> run{};        // does it, or all of it but for a move, which the engine makes
  std::function<void()> on_host{};          // instead: a function of the program, run on the host thread
  std::function<void(Time)> on_complete{};  // told when it completed

  // ---- How far it is; the engine's ----
  enum class State { waiting, ready, running, complete };
  State state = State::waiting;
  unsigned long serial = 0;  // in order of submission
  int blockers = 0;
  std::vector<Work> before{};  // what waits for this
  Time submitted_at = 0;
  Time completed_at = 0;
  CUresult fault = CUDA_SUCCESS;  // of its context, if it did not run because of that

  bool is_complete() const noexcept { return state == State::complete; }

  // Before it is submitted: it runs when the earlier one is complete.
  void come_after(const Work &earlier) {
    if (earlier == nullptr) return;
    if (earlier->is_complete())
      completed_at = std::max(completed_at, earlier->completed_at);
    else
      after.push_back(earlier);
  }
};

inline bool is_complete(const Work &work) noexcept { return work == nullptr || work->is_complete(); }

}  // namespace cushim::sim
