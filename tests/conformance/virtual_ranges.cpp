// SPDX-License-Identifier: Apache-2.0
// Reserved address ranges.
#include "virtual_memory.hpp"

namespace conformance {
namespace {

class VirtualRanges : public WithVirtualMemory {};

constexpr std::size_t kMiB = 1 << 20;

// ---- Reserving ----

STATEMENT(VirtualRanges, Are_reserved, driver().cuMemAddressReserve(&range_out, kGranule, 0, 0, 0),
          CUDA_SUCCESS)
STATEMENT(VirtualRanges, Reserving_needs_a_place, driver().cuMemAddressReserve(nullptr, kGranule, 0, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Of_no_bytes_are_refused, driver().cuMemAddressReserve(&range_out, 0, 0, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Of_one_byte_are_refused, driver().cuMemAddressReserve(&range_out, 1, 0, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Of_4_KiB_are_refused, driver().cuMemAddressReserve(&range_out, 4096, 0, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Of_64_KiB_are_refused, driver().cuMemAddressReserve(&range_out, 65536, 0, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Of_3_MiB_are_refused, driver().cuMemAddressReserve(&range_out, 3 * kMiB, 0, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, With_an_alignment_of_1, driver().cuMemAddressReserve(&range_out, kGranule, 1, 0, 0),
          CUDA_SUCCESS)
STATEMENT(VirtualRanges, With_an_alignment_of_3, driver().cuMemAddressReserve(&range_out, kGranule, 3, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, With_an_alignment_of_4_KiB,
          driver().cuMemAddressReserve(&range_out, kGranule, 4096, 0, 0), CUDA_SUCCESS)
STATEMENT(VirtualRanges, With_an_alignment_of_3_MiB,
          driver().cuMemAddressReserve(&range_out, kGranule, 3 * kMiB, 0, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, With_flags_are_refused, driver().cuMemAddressReserve(&range_out, kGranule, 0, 0, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Of_256_gibibytes_are_reserved,
          driver().cuMemAddressReserve(&range_out, range_out_size = std::size_t{1} << 38, 0, 0, 0),
          CUDA_SUCCESS)
STATEMENT(VirtualRanges, Of_2_to_the_50_are_not_there,
          driver().cuMemAddressReserve(&range_out, std::size_t{1} << 50, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY)
STATEMENT(VirtualRanges, Of_all_there_can_be_are_not_there,
          driver().cuMemAddressReserve(&range_out, ~std::size_t{0} - kGranule + 1, 0, 0, 0),
          CUDA_ERROR_OUT_OF_MEMORY)
TEST_F(VirtualRanges, Are_aligned_to_the_granularity) {
  for (std::size_t granules : {1, 2, 3, 5})
    EXPECT_VALUE(range(granules * kGranule) % kGranule, CUdeviceptr{0});
}
TEST_F(VirtualRanges, Are_aligned_as_asked) {
  EXPECT_VALUE(range(kGranule, 64 * kMiB) % (64 * kMiB), CUdeviceptr{0});
  EXPECT_VALUE(range(kGranule, 1024 * kMiB) % (1024 * kMiB), CUdeviceptr{0});
}
TEST_F(VirtualRanges, Do_not_overlap) {
  const CUdeviceptr one = range(4 * kGranule), other = range(4 * kGranule);
  EXPECT_VALUE(one + 4 * kGranule <= other || other + 4 * kGranule <= one, true);
}
TEST_F(VirtualRanges, Refused_leave_the_place_as_it_was) {
  CUdeviceptr out = 77;
  EXPECT_ANSWER(driver().cuMemAddressReserve(&out, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(out == 77, true);
}
TEST_F(VirtualRanges, Are_reserved_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, kGranule, 0, 0, 0), CUDA_SUCCESS);
}
TEST_F(VirtualRanges, Take_no_memory_of_the_device) {
  const std::size_t before = free_memory();
  range(64 * kMiB);
  EXPECT_VALUE(before == free_memory(), true);
}

// ---- Reserving at an address ----

TEST_F(VirtualRanges, Are_reserved_where_asked) {
  const CUdeviceptr at = range(4 * kGranule);
  NEED(driver().cuMemAddressFree(at, 4 * kGranule));
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, kGranule, 0, at + kGranule, 0), CUDA_SUCCESS);
  EXPECT_VALUE(range_out == at + kGranule, true);
}
TEST_F(VirtualRanges, Are_reserved_elsewhere_if_the_addresses_are_taken) {
  const CUdeviceptr at = range();
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, kGranule, 0, at, 0), CUDA_SUCCESS);
  EXPECT_VALUE(range_out != at, true);
}
TEST_F(VirtualRanges, Are_reserved_elsewhere_if_a_part_of_the_addresses_is_taken) {
  const CUdeviceptr at = range(2 * kGranule);
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, 2 * kGranule, 0, at + kGranule, 0), CUDA_SUCCESS);
  range_out_size = 2 * kGranule;
  EXPECT_VALUE(range_out >= at + 2 * kGranule || range_out + 2 * kGranule <= at, true);
}
TEST_F(VirtualRanges, Are_reserved_elsewhere_if_the_address_is_of_allocated_memory) {
  const CUdeviceptr at = memory(kGranule) / kGranule * kGranule;
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, kGranule, 0, at, 0), CUDA_SUCCESS);
  EXPECT_VALUE(range_out != at, true);
}
TEST_F(VirtualRanges, At_a_misaligned_address) {
  const CUdeviceptr at = range(4 * kGranule);
  NEED(driver().cuMemAddressFree(at, 4 * kGranule));
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, kGranule, 0, at + 4096, 0),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, At_an_address_that_is_not_aligned_as_asked) {
  const CUdeviceptr at = range(4 * kGranule, 8 * kGranule);
  NEED(driver().cuMemAddressFree(at, 4 * kGranule));
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, kGranule, 4 * kGranule, at + kGranule, 0),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Adjacent_to_another_are_reserved) {
  const CUdeviceptr at = range(4 * kGranule);
  NEED(driver().cuMemAddressFree(at, 4 * kGranule));
  range_at(at, kGranule);
  EXPECT_ANSWER(driver().cuMemAddressReserve(&range_out, kGranule, 0, at + kGranule, 0), CUDA_SUCCESS);
  EXPECT_VALUE(range_out == at + kGranule, true);
}

// ---- Freeing ----

TEST_F(VirtualRanges, Are_freed) {
  EXPECT_ANSWER(driver().cuMemAddressFree(range(4 * kGranule), 4 * kGranule), CUDA_SUCCESS);
}
TEST_F(VirtualRanges, Are_freed_without_a_context) {
  const CUdeviceptr at = range();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAddressFree(at, kGranule), CUDA_SUCCESS);
}
TEST_F(VirtualRanges, Are_not_freed_twice) {
  const CUdeviceptr at = range();
  NEED(driver().cuMemAddressFree(at, kGranule));
  EXPECT_ANSWER(driver().cuMemAddressFree(at, kGranule), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Are_not_freed_by_a_smaller_size) {
  EXPECT_ANSWER(driver().cuMemAddressFree(range(4 * kGranule), kGranule), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Are_not_freed_by_a_larger_size) {
  EXPECT_ANSWER(driver().cuMemAddressFree(range(), 2 * kGranule), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Are_not_freed_by_a_size_of_0) {
  EXPECT_ANSWER(driver().cuMemAddressFree(range(), 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Are_not_freed_by_an_interior_address) {
  EXPECT_ANSWER(driver().cuMemAddressFree(range(4 * kGranule) + kGranule, 3 * kGranule),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Two_adjacent_ones_are_not_freed_at_once) {
  const CUdeviceptr at = range(2 * kGranule);
  NEED(driver().cuMemAddressFree(at, 2 * kGranule));
  range_at(at, kGranule);
  range_at(at + kGranule, kGranule);
  EXPECT_ANSWER(driver().cuMemAddressFree(at, 2 * kGranule), CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(VirtualRanges, Null_is_not_freed, driver().cuMemAddressFree(0, kGranule), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Null_of_no_bytes_is_not_freed, driver().cuMemAddressFree(0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualRanges, Allocated_memory_is_not_freed_as_a_range,
          driver().cuMemAddressFree(memory(kGranule), kGranule), CUDA_ERROR_INVALID_VALUE)
TEST_F(VirtualRanges, With_a_mapping_are_not_freed) {
  const CUdeviceptr at = mapped();
  EXPECT_ANSWER(driver().cuMemAddressFree(at, kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(access_at(at), 0ull);  // the mapping is still there
}
TEST_F(VirtualRanges, With_a_mapping_of_a_part_are_not_freed) {
  const CUdeviceptr at = range(4 * kGranule);
  map(at + 2 * kGranule, kGranule, physical());
  EXPECT_ANSWER(driver().cuMemAddressFree(at, 4 * kGranule), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Are_freed_after_their_mapping) {
  const CUdeviceptr at = mapped();
  NEED(driver().cuMemUnmap(at, kGranule));
  EXPECT_ANSWER(driver().cuMemAddressFree(at, kGranule), CUDA_SUCCESS);
}

// ---- Without a mapping ----

TEST_F(VirtualRanges, Without_a_mapping_are_in_no_allocation) {
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&pointer, &size, range()), CUDA_ERROR_NOT_FOUND);
  EXPECT_VALUE(size, std::size_t{0});
  pointer = 0;
}
TEST_F(VirtualRanges, Without_a_mapping_have_no_access) {
  const CUmemLocation location = access().location;
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, range()), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Without_a_mapping_are_given_no_access) {
  const CUmemAccessDesc wanted = access();
  EXPECT_ANSWER(driver().cuMemSetAccess(range(), kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Without_a_mapping_are_not_freed_as_memory) {
  EXPECT_ANSWER(driver().cuMemFree(range()), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualRanges, Without_a_mapping_are_not_written_to) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr at = range();
  EXPECT_ANSWER(driver().cuMemcpyHtoD(at, &number, sizeof number), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}
TEST_F(VirtualRanges, Without_a_mapping_are_not_read) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr at = range();
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&number, at, sizeof number), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}
TEST_F(VirtualRanges, Without_a_mapping_are_not_set) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr at = range();
  EXPECT_ANSWER(driver().cuMemsetD8(at, 1, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance
