// SPDX-License-Identifier: Apache-2.0
// Keeps a stream's work unfinished without a kernel.
#pragma once

#include <cuda.h>

#include <memory>

namespace cushim::testing {

// Holds a stream: work that is already in the stream runs; later work does not begin until release() or the
// destructor. Neither waits for the stream.
class Hold {
 public:
  Hold(Hold &&) noexcept = default;
  Hold &operator=(Hold &&) = delete;
  ~Hold() { release(); }

  // Lets the stream continue. Has no effect the second time.
  void release() noexcept;

 private:
  friend Hold hold(CUstream stream);
  struct Latch;
  explicit Hold(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}
  std::shared_ptr<Latch> latch_;
};

// Holds a stream of the current context. The stream waits for a value in pinned memory if the device has
// 64-bit memory operations, else in a host function. Throws std::runtime_error if the stream cannot be
// held. The pinned page is not freed, since that would wait for the stream: the context frees it.
// Driver calls: cuCtxGetDevice, cuDeviceGetAttribute, cuMemHostAlloc, cuMemHostGetDevicePointer,
// cuStreamWaitValue32; or cuLaunchHostFunc.
Hold hold(CUstream stream);

}  // namespace cushim::testing
