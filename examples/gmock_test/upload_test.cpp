// SPDX-License-Identifier: Apache-2.0
// Tests host code without a GPU: GoogleMock expectations state which calls the driver must receive, and what
// they return.
#include "upload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include <array>

namespace {

using cushim::mock::Fails;
using cushim::mock::Gives;
using cushim::mock::MockDriver;
using cushim::mock::Returns;
using testing::_;

const CUevent kEvent = reinterpret_cast<CUevent>(0x10);
const CUstream kStream = reinterpret_cast<CUstream>(0x20);
constexpr CUdeviceptr kTo = 0x1000;

class Upload : public testing::Test {
 protected:
  cushim::Event upload_in_pieces(std::size_t piece) {
    const cushim::DeviceSpan to(cushim::DevicePtr<std::byte>(kTo), from_.size());
    return upload(to, cushim::PinnedSpan<const std::byte>(from_), piece,
                  cushim::StreamRef::from_handle(kStream));
  }
  const std::byte *at(std::size_t offset) const { return from_.data() + offset; }

  MockDriver mock_;
  const cushim::ScopedDriver scope_{mock_};  // upload() calls the mock
  const testing::InSequence in_order_;
  std::array<std::byte, 10> from_{};
};

TEST_F(Upload, Copies_piece_by_piece_and_then_records_the_event) {
  EXPECT_CALL(mock_, cuEventCreate(_, CU_EVENT_DISABLE_TIMING)).WillOnce(Gives(kEvent));
  EXPECT_CALL(mock_, cuMemcpyHtoDAsync(kTo, at(0), 4, kStream));
  EXPECT_CALL(mock_, cuMemcpyHtoDAsync(kTo + 4, at(4), 4, kStream));
  EXPECT_CALL(mock_, cuMemcpyHtoDAsync(kTo + 8, at(8), 2, kStream));
  EXPECT_CALL(mock_, cuEventRecord(kEvent, kStream));
  EXPECT_CALL(mock_, cuEventDestroy(kEvent));
  upload_in_pieces(4);
}

TEST_F(Upload, Stops_at_the_piece_that_fails_and_destroys_its_event) {
  EXPECT_CALL(mock_, cuEventCreate).WillOnce(Gives(kEvent));
  EXPECT_CALL(mock_, cuMemcpyHtoDAsync(kTo, _, 4, _));
  EXPECT_CALL(mock_, cuMemcpyHtoDAsync(kTo + 4, _, 4, _)).WillOnce(Returns(CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_CALL(mock_, cuEventDestroy(kEvent));
  EXPECT_THAT([&] { upload_in_pieces(4); }, Fails(CUDA_ERROR_ILLEGAL_ADDRESS));
}

TEST_F(Upload, Without_an_event_nothing_is_copied) {
  EXPECT_CALL(mock_, cuEventCreate).WillOnce(Returns(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_THAT([&] { upload_in_pieces(4); }, Fails(CUDA_ERROR_OUT_OF_MEMORY));
}

}  // namespace
