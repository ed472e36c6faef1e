// SPDX-License-Identifier: Apache-2.0
// Keeping a stream's work unfinished without a kernel.
#pragma once

#include <cuda.h>

#include <memory>

namespace cushim::testing {

// What has been put into the stream before this stays in order before it; what comes after it does not
// begin until release() or the end of this object. Neither waits for the stream.
class Hold {
 public:
  Hold(Hold &&) noexcept = default;
  Hold &operator=(Hold &&) = delete;
  ~Hold() { release(); }

  void release() noexcept;

 private:
  friend Hold hold(CUstream stream);
  struct Latch;
  explicit Hold(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}
  std::shared_ptr<Latch> latch_;
};

// Holds a stream of the current context. The stream waits for a word of pinned memory if the device has
// 64-bit memory operations, else in a host function; a stream that cannot be held is a std::runtime_error.
// The word's page is not freed, since that would wait for the stream: it goes with the context.
// Driver calls: cuCtxGetDevice, cuDeviceGetAttribute, cuMemHostAlloc, cuMemHostGetDevicePointer,
// cuStreamWaitValue32; or cuLaunchHostFunc.
Hold hold(CUstream stream);

}  // namespace cushim::testing
