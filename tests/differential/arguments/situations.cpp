// SPDX-License-Identifier: Apache-2.0
#include "situations.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace arguments {
namespace {

constexpr const char *kTrap =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry fault() { trap; }\n";

// Writes `value` after `longest`, or when the call returns, whichever is first.
class Release {
 public:
  Release(volatile std::uint32_t &place, std::uint32_t value, std::chrono::milliseconds longest)
      : thread_([this, &place, value, longest] {
          std::unique_lock lock(mutex_);
          was_needed_ = !changed_.wait_for(lock, longest, [this] { return has_returned_; });
          place = value;
        }) {}
  // Returns whether the call waited.
  bool end() {
    {
      const std::lock_guard lock(mutex_);
      has_returned_ = true;
    }
    changed_.notify_one();
    thread_.join();
    return was_needed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_returned_ = false, was_needed_ = false;
  std::thread thread_;
};

}  // namespace

std::span<const NamedSituation> all_situations() {
  using enum Situation;
  static constexpr NamedSituation all[] = {
      {plain, "plain"},
      {no_context, "no_context"},
      {other_context, "other_context"},
      {capture_relaxed, "capture_relaxed"},
      {capture_thread_local, "capture_thread_local"},
      {capture_global, "capture_global"},
      {others_capture, "others_capture"},
      {captured, "captured"},
      {busy, "busy"},
      {blocking_busy, "blocking_busy"},
      {other_busy, "other_busy"},
      {host_function, "host_function"},
      {after_fault, "after_fault"},
  };
  return all;
}

CUresult CallMaker::make(Situation situation, const Call &call) {
  switch (situation) {
    case Situation::plain:
      return make_watching_context(call);
    case Situation::no_context:
      return make_in_context(nullptr, call);
    case Situation::other_context:
      return make_in_context(objects_.other_context(), call);
    case Situation::capture_relaxed:
      return make_in_capture(objects_.other_stream(), CU_STREAM_CAPTURE_MODE_RELAXED, call);
    case Situation::capture_thread_local:
      return make_in_capture(objects_.other_stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, call);
    case Situation::capture_global:
      return make_in_capture(objects_.other_stream(), CU_STREAM_CAPTURE_MODE_GLOBAL, call);
    case Situation::others_capture:
      return make_in_capture_of_others(call);
    case Situation::captured:
      return make_while_captured(call);
    case Situation::busy:
      return make_while_busy(objects_.stream(), call);
    case Situation::blocking_busy:
      return make_while_busy(objects_.blocking_stream(), call);
    case Situation::other_busy:
      return make_while_busy(objects_.other_stream(), call);
    case Situation::host_function:
      return make_in_host_function(call);
    case Situation::after_fault:
      return make_after_fault(call);
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult CallMaker::make_watching_context(const Call &call) {
  CUcontext before = nullptr, after = nullptr;
  driver_.cuCtxGetCurrent(&before);
  const CUresult result = call();
  driver_.cuCtxGetCurrent(&after);
  if (after == before) return result;
  seen_ += after == nullptr ? " current=none" : after == context_ ? " current=context" : " current=other";
  return result;
}

CUresult CallMaker::make_in_context(CUcontext context, const Call &call) {
  driver_.cuCtxSetCurrent(context);
  return make_watching_context(call);
}

std::string CallMaker::end_capture(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  driver_.cuStreamIsCapturing(stream, &status);
  CUgraph captured = nullptr;
  driver_.cuStreamEndCapture(stream, &captured);
  if (captured != nullptr) driver_.cuGraphDestroy(captured);
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? ""
                                                   : fmt::format(" capture={}", static_cast<int>(status));
}

CUresult CallMaker::make_in_capture(CUstream stream, CUstreamCaptureMode mode, const Call &call) {
  Objects::check(driver_.cuStreamBeginCapture(stream, mode), "capture");
  const CUresult result = make_watching_context(call);
  driver_.cuCtxSetCurrent(context_);
  seen_ += end_capture(stream);
  return result;
}

CUresult CallMaker::make_in_capture_of_others(const Call &call) {
  const CUstream stream = objects_.other_stream();
  std::atomic<bool> has_begun = false, has_returned = false;
  std::string seen;
  CUresult begun = CUDA_SUCCESS;
  std::thread other([&] {
    driver_.cuCtxSetCurrent(context_);
    begun = driver_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    has_begun = true;
    has_begun.notify_one();
    has_returned.wait(false);
    seen = end_capture(stream);
  });
  has_begun.wait(false);
  const CUresult result = begun == CUDA_SUCCESS ? make_watching_context(call) : begun;
  has_returned = true;
  has_returned.notify_one();
  other.join();
  Objects::check(begun, "capture");
  seen_ += seen;
  return result;
}

CUresult CallMaker::make_while_captured(const Call &call) {
  const CUstream stream = objects_.stream();
  Objects::check(driver_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
  const CUresult result = make_watching_context(call);
  driver_.cuCtxSetCurrent(context_);
  CUgraph captured = nullptr;
  const CUresult ended = driver_.cuStreamEndCapture(stream, &captured);
  if (ended != CUDA_SUCCESS) seen_ += fmt::format(" end={}", static_cast<int>(ended));
  if (captured == nullptr) return result;
  std::size_t count = 0;
  driver_.cuGraphGetNodes(captured, nullptr, &count);
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) driver_.cuGraphGetNodes(captured, nodes.data(), &count);
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    driver_.cuGraphNodeGetType(node, &type);
    seen_ += (node == nodes.front() ? " nodes=" : ",") + std::to_string(type);
  }
  driver_.cuGraphDestroy(captured);
  return result;
}

CUresult CallMaker::make_while_busy(CUstream stream, const Call &call) {
  constexpr std::chrono::milliseconds kLongest(300);
  const Flag flag = objects_.flag();
  Objects::check(driver_.cuStreamWaitValue32(stream, flag.address, 1, CU_STREAM_WAIT_VALUE_GEQ),
                 "pending work");
  Release release(*flag.value, 1, kLongest);
  const CUresult result = make_watching_context(call);
  if (release.end()) seen_ += " waits";
  return result;
}

CUresult CallMaker::make_in_host_function(const Call &call) {
  struct Result {
    const Call &call;
    CUresult code;
  } result{call, CUDA_SUCCESS};
  const auto function = [](void *data) {
    Result &to = *static_cast<Result *>(data);
    to.code = to.call();
  };
  Objects::check(driver_.cuLaunchHostFunc(objects_.other_stream(), function, &result), "host function");
  Objects::check(driver_.cuStreamSynchronize(objects_.other_stream()), "end of the host function");
  return result.code;
}

CUresult CallMaker::make_after_fault(const Call &call) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  Objects::check(driver_.cuModuleLoadData(&module, kTrap), "faulty kernel");
  Objects::check(driver_.cuModuleGetFunction(&function, module, "fault"), "faulty kernel");
  Objects::check(driver_.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                 "faulty kernel");
  if (driver_.cuCtxSynchronize() == CUDA_SUCCESS) throw NotMade("no fault");
  return make_watching_context(call);
}

}  // namespace arguments
