// SPDX-License-Identifier: Apache-2.0
// Finds out what the host functions of a program that is recorded write to pinned, registered and managed
// memory.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/mock/hook.hpp>
#include <cushim/mock/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "host_visible_memory.hpp"

namespace cushim::replay {

// A host function that ran.
struct HostFunctionRun {
  std::uint64_t call = 0;  // RecordedCall::begin of the call that enqueued it
  std::uint64_t end = 0;   // the count of begins and ends when it returned
  std::vector<HostVisibleMemory::Change> changes{};
};

// Thread-safe. Host functions that run after its end are the program's own.
class HostFunctionRecorder {
 public:
  // Replaces the functions of cuLaunchHostFunc and cuStreamAddCallback. Does not replace those that are
  // captured in a graph, because a program can ask for the function of a node.
  // `sequence` is the count of begins and ends of calls.
  HostFunctionRecorder(cushim::Driver &driver, std::shared_ptr<HostVisibleMemory> watched,
                       std::shared_ptr<std::atomic<std::uint64_t>> sequence);
  ~HostFunctionRecorder();

  // Sets RecordedCall::begin of the call that this thread makes.
  static void set_call(std::uint64_t begin) noexcept { call_ = begin; }
  // Returns the functions that have run since the last call.
  std::vector<HostFunctionRun> take();

 private:
  struct Runs {
    std::atomic<bool> is_empty{true}, has_ended{false};
    mock::Mutex mutex{};  // guards the next
    std::vector<HostFunctionRun> runs{};
  };
  struct Function;
  template <Entry entry>
  void replace(bool is_per_thread);
  bool is_capturing(CUstream stream, bool is_per_thread) const;
  template <class Run>
  static void observe(Function &function, Run run);
  static void run_function(void *data);
  static void CUDA_CB run_callback(CUstream stream, CUresult status, void *data);

  static thread_local std::uint64_t call_;
  cushim::Driver &driver_;
  const std::shared_ptr<HostVisibleMemory> watched_;
  const std::shared_ptr<std::atomic<std::uint64_t>> sequence_;
  const std::shared_ptr<Runs> runs_ = std::make_shared<Runs>();
  std::vector<hook::Hook> hooks_;  // last member: removed before what they use
};

}  // namespace cushim::replay
