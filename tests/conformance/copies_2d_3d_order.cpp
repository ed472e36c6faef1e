// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions in streams: when they read and write.
#include <algorithm>

#include "copies_2d_3d.hpp"

namespace conformance {
namespace {

class Ordered3D : public Copies3D {
 protected:
  void SetUp() override {
    Copies3D::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    work = stream();
  }

  // A copy of two dimensions and its ends.
  struct Plane {
    Box from, to;
    CUDA_MEMCPY2D two;
  };
  Plane plane(const End &source, const End &target) {
    planes = true;
    const Box from = box(*this, source, 1), to = box(*this, target, 100);
    aim(*this, from, to);
    return {from, to, in_two(copy)};
  }
  void expect_done_when_the_call_returns(const End &source) {
    const auto [from, to, two] = plane(source, in_pageable);
    EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
    EXPECT_VALUE(std::equal(from.bytes.begin(), from.bytes.begin() + kWidth,
                            reinterpret_cast<const unsigned char *>(to.address)),
                 true);
  }
  void expect_read_when_the_call_returns(const End &target) {
    const auto [from, to, two] = plane(in_pageable, target);
    Hold held = hold(work);
    EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
    std::fill_n(reinterpret_cast<unsigned char *>(from.address), kLinear, static_cast<unsigned char>(55));
    EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
    held.release();
    EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
    EXPECT_VALUE(to.now() == copied(copy, true, from, to), true);
  }
};

TEST_F(Ordered3D, In_a_held_stream_wait) {
  const Box from = box(*this, in_device, 1), to = box(*this, in_pinned, 100);
  aim(*this, from, to);
  // The source was filled from pageable memory: the copy has read that memory when it returns, but the bytes
  // may still be in transit to the device, and this stream does not wait for them. Measured: without this
  // call, zeros arrived.
  NEED(driver().cuCtxSynchronize());
  const CUDA_MEMCPY3D three = in_three(copy);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy3DAsync(&three, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  EXPECT_VALUE(static_cast<int>(reinterpret_cast<volatile unsigned char *>(to.address)[0]), 100);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_TRUE(to.now() == copied(copy, false, from, to));
}
TEST_F(Ordered3D, Between_arrays_in_a_held_stream_wait) {
  const Box from = box(*this, in_array, 1), to = box(*this, in_array, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY3D three = in_three(copy);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy3DAsync(&three, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(to.now() == copied(copy, false, from, to), true);
}
TEST_F(Ordered3D, Of_pinned_memory_are_read_when_the_stream_comes_to_them) {
  const auto [from, to, two] = plane(in_pinned, in_device);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  *reinterpret_cast<unsigned char *>(from.address) = 55;
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(to.now()[0]), 55);
}
TEST_F(Ordered3D, In_one_stream_keep_their_order) {
  planes = true;
  const Box one = box(*this, in_device, 1), between = box(*this, in_array, 50),
            other = box(*this, in_device, 100);
  aim(*this, one, between);
  const CUDA_MEMCPY2D there = in_two(copy);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&there, work), CUDA_SUCCESS);
  aim(*this, between, other);
  const CUDA_MEMCPY2D back = in_two(copy);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&back, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD2D8Async(one.address, kPitch, 0, kWidth, kRows, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(std::equal(one.bytes.begin(), one.bytes.begin() + kWidth, other.now().begin()), true);
}
TEST_F(Ordered3D, To_pageable_memory_are_done_when_the_call_returns) {
  expect_done_when_the_call_returns(in_device);
}
TEST_F(Ordered3D, Of_an_array_to_pageable_memory_are_done_when_the_call_returns) {
  expect_done_when_the_call_returns(in_array);
}
TEST_F(Ordered3D, Of_pageable_memory_are_read_before_the_call_returns) {
  const auto [from, to, two] = plane(in_pageable, in_device);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  std::fill_n(reinterpret_cast<unsigned char *>(from.address), kLinear, static_cast<unsigned char>(55));
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(to.now() == copied(copy, true, from, to), true);
}
TEST_F(Ordered3D, Of_small_pageable_memory_in_a_held_stream_return_at_once) {
  expect_read_when_the_call_returns(in_device);
}
TEST_F(Ordered3D, Of_small_pageable_memory_to_an_array_in_a_held_stream_return_at_once) {
  expect_read_when_the_call_returns(in_array);
}

}  // namespace
}  // namespace conformance
