// SPDX-License-Identifier: Apache-2.0
#include "host_function_recorder.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

namespace cushim::replay {

thread_local std::uint64_t HostFunctionRecorder::call_ = 0;

// A function of the program with its data, until it has run.
struct HostFunctionRecorder::Function {
  std::shared_ptr<HostVisibleMemory> watched;
  std::shared_ptr<std::atomic<std::uint64_t>> sequence;
  std::shared_ptr<Runs> runs;
  std::uint64_t call = 0;
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;
  void *data = nullptr;
};

template <class Run>
void HostFunctionRecorder::observe(Function &function, Run run) {
  if (function.runs->has_ended) return run();
  const auto before = function.watched->copy();
  run();
  HostFunctionRun made{.call = function.call, .changes = HostVisibleMemory::changes_since(before)};
  made.end = 1 + function.sequence->fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(function.runs->mutex);
  function.runs->runs.push_back(std::move(made));
  function.runs->is_empty = false;
}

void HostFunctionRecorder::run_function(void *data) {
  const std::unique_ptr<Function> function(static_cast<Function *>(data));
  observe(*function, [&] { function->function(function->data); });
}

void CUDA_CB HostFunctionRecorder::run_callback(CUstream stream, CUresult status, void *data) {
  const std::unique_ptr<Function> function(static_cast<Function *>(data));
  observe(*function, [&] { function->callback(stream, status, function->data); });
}

template <Entry entry>
void HostFunctionRecorder::replace(bool is_per_thread) {
  hooks_.push_back(hook::replace<entry>(
      driver_,
      [this, is_per_thread](const auto &next, CUstream stream, auto function, void *data, auto... flags) {
        if (function == nullptr || is_capturing(stream, is_per_thread))
          return next(stream, function, data, flags...);
        auto made = std::make_unique<Function>(
            Function{.watched = watched_, .sequence = sequence_, .runs = runs_, .call = call_, .data = data});
        CUresult result = CUDA_SUCCESS;
        if constexpr (std::is_same_v<decltype(function), CUhostFn>) {
          made->function = function;
          result = next(stream, &run_function, made.get(), flags...);
        } else {
          made->callback = function;
          result = next(stream, &run_callback, made.get(), flags...);
        }
        if (result == CUDA_SUCCESS) static_cast<void>(made.release());  // the function deletes it
        return result;
      }));
}

HostFunctionRecorder::HostFunctionRecorder(cushim::Driver &driver, std::shared_ptr<HostVisibleMemory> watched,
                                           std::shared_ptr<std::atomic<std::uint64_t>> sequence)
    : driver_(driver), watched_(std::move(watched)), sequence_(std::move(sequence)) {
  replace<Entry::cuLaunchHostFunc_v10000>(false);
  replace<Entry::cuLaunchHostFunc_v10000_ptsz>(true);
  replace<Entry::cuLaunchHostFunc_v13010>(false);
  replace<Entry::cuLaunchHostFunc_v13010_ptsz>(true);
  replace<Entry::cuStreamAddCallback_v5000>(false);
  replace<Entry::cuStreamAddCallback_v7000_ptsz>(true);
}

HostFunctionRecorder::~HostFunctionRecorder() { runs_->has_ended = true; }

bool HostFunctionRecorder::is_capturing(CUstream stream, bool is_per_thread) const {
  if (stream == nullptr && is_per_thread) stream = CU_STREAM_PER_THREAD;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver_.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::vector<HostFunctionRun> HostFunctionRecorder::take() {
  if (runs_->is_empty.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(runs_->mutex);
  runs_->is_empty = true;
  return std::exchange(runs_->runs, {});
}

}  // namespace cushim::replay
