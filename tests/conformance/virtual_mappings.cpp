// SPDX-License-Identifier: Apache-2.0
// Mappings of physical memory, and access to them.
#include "virtual_memory.hpp"

namespace conformance {
namespace {

class VirtualMappings : public WithVirtualMemory {
 public:
  CUmemAccessDesc wanted = access();
  CUmemLocation location = access().location;
};

// ---- Mapping ----

TEST_F(VirtualMappings, Are_made) {
  const CUdeviceptr at = range();
  const Handle memory = physical();
  EXPECT_ANSWER(driver().cuMemMap(at, kGranule, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemUnmap(at, kGranule), CUDA_SUCCESS);
}
TEST_F(VirtualMappings, Are_made_without_a_context) {
  const CUdeviceptr at = range();
  const Handle memory = physical();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemMap(at, kGranule, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemSetAccess(at, kGranule, &wanted, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, at), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemUnmap(at, kGranule), CUDA_SUCCESS);
}
STATEMENT(VirtualMappings, Of_no_bytes_are_refused, driver().cuMemMap(range(), 0, 0, physical(), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Of_4_KiB_are_refused, driver().cuMemMap(range(), 4096, 0, physical(), 0),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(VirtualMappings, Of_half_a_granule_are_refused,
          driver().cuMemMap(range(), kGranule / 2, 0, physical(), 0), CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(VirtualMappings, At_half_a_granule_are_refused,
          driver().cuMemMap(range(2 * kGranule) + kGranule / 2, kGranule, 0, physical(), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, With_flags_are_refused, driver().cuMemMap(range(), kGranule, 0, physical(), 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Of_more_than_the_memory_are_refused,
          driver().cuMemMap(range(2 * kGranule), 2 * kGranule, 0, physical(), 0), CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(VirtualMappings, From_beyond_the_memory_are_refused,
          driver().cuMemMap(range(), kGranule, kGranule, physical(), 0), CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(VirtualMappings, From_the_middle_of_a_granule_are_refused,
          driver().cuMemMap(range(), kGranule, kGranule / 2, physical(2 * kGranule), 0),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(VirtualMappings, Of_the_second_granule_of_the_memory_are_refused,
          driver().cuMemMap(range(), kGranule, kGranule, physical(2 * kGranule), 0), CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(VirtualMappings, Of_the_first_granule_of_the_memory_are_refused,
          driver().cuMemMap(range(), kGranule, 0, physical(2 * kGranule), 0), CUDA_ERROR_NOT_SUPPORTED)
TEST_F(VirtualMappings, Of_more_than_the_range_are_made) {
  const CUdeviceptr at = range(2 * kGranule);
  NEED(driver().cuMemAddressFree(at, 2 * kGranule));
  range_at(at, kGranule);
  const Handle memory = physical(2 * kGranule);
  EXPECT_ANSWER(driver().cuMemMap(at, 2 * kGranule, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemSetAccess(at, 2 * kGranule, &wanted, 1), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at + kGranule), 3ull);
  EXPECT_ANSWER(driver().cuMemsetD8(at + kGranule, 1, 16), CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());  // unmapping does not wait for the work
  EXPECT_ANSWER(driver().cuMemUnmap(at, 2 * kGranule), CUDA_SUCCESS);
}
STATEMENT(VirtualMappings, At_null_are_refused, driver().cuMemMap(0, kGranule, 0, physical(), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, At_allocated_memory_are_refused,
          driver().cuMemMap(memory(2 * kGranule) / kGranule * kGranule, kGranule, 0, physical(), 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(VirtualMappings, In_a_range_that_was_freed_are_refused) {
  const CUdeviceptr at = range();
  const Handle memory = physical();
  NEED(driver().cuMemAddressFree(at, kGranule));
  EXPECT_ANSWER(driver().cuMemMap(at, kGranule, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Across_two_adjacent_ranges) {
  const CUdeviceptr at = range(2 * kGranule);
  const Handle memory = physical(2 * kGranule);
  NEED(driver().cuMemAddressFree(at, 2 * kGranule));
  range_at(at, kGranule);
  range_at(at + kGranule, kGranule);
  EXPECT_ANSWER(driver().cuMemMap(at, 2 * kGranule, 0, memory, 0), CUDA_SUCCESS);
  driver().cuMemUnmap(at, 2 * kGranule);
}
TEST_F(VirtualMappings, Over_another_are_refused) {
  const CUdeviceptr at = mapped();
  EXPECT_ANSWER(driver().cuMemMap(at, kGranule, 0, physical(), 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Over_a_part_of_another_are_refused) {
  const CUdeviceptr at = range(4 * kGranule);
  map(at + kGranule, 2 * kGranule, physical(2 * kGranule));
  const Handle memory = physical(2 * kGranule);
  EXPECT_ANSWER(driver().cuMemMap(at, 2 * kGranule, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuMemMap(at + 2 * kGranule, 2 * kGranule, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Of_the_handle_0_are_refused) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemMap(range(), kGranule, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Of_released_memory_are_refused) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const Handle memory = disowned(physical());
  NEED(driver().cuMemRelease(memory));
  EXPECT_ANSWER(driver().cuMemMap(range(), kGranule, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Of_released_memory_that_is_mapped) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const Handle memory = physical();
  map(range(), kGranule, memory);
  NEED(driver().cuMemRelease(disowned(memory)));
  EXPECT_ANSWER(driver().cuMemMap(range(), kGranule, 0, memory, 0), CUDA_SUCCESS);
}

// ---- Unmapping ----

TEST_F(VirtualMappings, Are_unmapped) {
  EXPECT_ANSWER(driver().cuMemUnmap(mapped(), kGranule), CUDA_SUCCESS);
}
TEST_F(VirtualMappings, Are_unmapped_twice) {
  const CUdeviceptr at = mapped();
  NEED(driver().cuMemUnmap(at, kGranule));
  EXPECT_ANSWER(driver().cuMemUnmap(at, kGranule), CUDA_SUCCESS);
}
STATEMENT(VirtualMappings, Are_not_unmapped_by_a_size_of_0, driver().cuMemUnmap(mapped(), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_not_unmapped_by_4_KiB, driver().cuMemUnmap(mapped(), 4096),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_not_unmapped_by_a_part_at_the_front,
          driver().cuMemUnmap(mapped(4), 2 * kGranule), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_not_unmapped_by_a_part_at_the_end,
          driver().cuMemUnmap(mapped(4) + 2 * kGranule, 2 * kGranule), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_not_unmapped_by_a_part_in_the_middle,
          driver().cuMemUnmap(mapped(4) + kGranule, 2 * kGranule), CUDA_ERROR_INVALID_VALUE)
TEST_F(VirtualMappings, That_are_not_unmapped_stay) {
  const CUdeviceptr at = mapped(4);
  EXPECT_ANSWER(driver().cuMemUnmap(at, kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(access_at(at), 0ull);
  EXPECT_VALUE(access_at(at + 3 * kGranule), 0ull);
  EXPECT_ANSWER(driver().cuMemUnmap(at, 4 * kGranule), CUDA_SUCCESS);
}
STATEMENT(VirtualMappings, Two_adjacent_ones_are_unmapped_at_once,
          driver().cuMemUnmap(adjacent(2), 2 * kGranule), CUDA_SUCCESS)
TEST_F(VirtualMappings, One_of_two_is_unmapped) {
  const CUdeviceptr at = adjacent(2);
  EXPECT_ANSWER(driver().cuMemUnmap(at + kGranule, kGranule), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at), 0ull);
  EXPECT_VALUE(access_at(at + kGranule), 1001ull);
}
TEST_F(VirtualMappings, One_and_a_half_are_not_unmapped) {
  const CUdeviceptr at = range(4 * kGranule);
  map(at, 2 * kGranule, physical(2 * kGranule));
  map(at + 2 * kGranule, 2 * kGranule, physical(2 * kGranule));
  EXPECT_ANSWER(driver().cuMemUnmap(at, 3 * kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(access_at(at), 0ull);
  EXPECT_VALUE(access_at(at + 2 * kGranule), 0ull);
}
TEST_F(VirtualMappings, Are_unmapped_with_addresses_after_them) {
  const CUdeviceptr at = range(2 * kGranule);
  map(at, kGranule, physical());
  EXPECT_ANSWER(driver().cuMemUnmap(at, 2 * kGranule), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at), 1001ull);
}
TEST_F(VirtualMappings, Are_unmapped_with_addresses_before_them) {
  const CUdeviceptr at = range(2 * kGranule);
  map(at + kGranule, kGranule, physical());
  EXPECT_ANSWER(driver().cuMemUnmap(at, 2 * kGranule), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at + kGranule), 1001ull);
}
TEST_F(VirtualMappings, Are_unmapped_with_addresses_between_them) {
  const CUdeviceptr at = range(3 * kGranule);
  map(at, kGranule, physical());
  map(at + 2 * kGranule, kGranule, physical());
  EXPECT_ANSWER(driver().cuMemUnmap(at, 3 * kGranule), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at), 1001ull);
  EXPECT_VALUE(access_at(at + 2 * kGranule), 1001ull);
}
TEST_F(VirtualMappings, Of_two_adjacent_ranges_are_unmapped_at_once) {
  const CUdeviceptr at = range(2 * kGranule);
  NEED(driver().cuMemAddressFree(at, 2 * kGranule));
  map(range_at(at, kGranule), kGranule, physical());
  map(range_at(at + kGranule, kGranule), kGranule, physical());
  EXPECT_ANSWER(driver().cuMemUnmap(at, 2 * kGranule), CUDA_SUCCESS);
}
STATEMENT(VirtualMappings, A_range_without_one_is_unmapped, driver().cuMemUnmap(range(), kGranule),
          CUDA_SUCCESS)
TEST_F(VirtualMappings, More_than_the_range_is_unmapped) {
  const CUdeviceptr at = range(2 * kGranule);
  NEED(driver().cuMemAddressFree(at, 2 * kGranule));
  range_at(at, kGranule);
  EXPECT_ANSWER(driver().cuMemUnmap(at, 2 * kGranule), CUDA_SUCCESS);
}
STATEMENT(VirtualMappings, Null_is_not_unmapped, driver().cuMemUnmap(0, kGranule), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Allocated_memory_is_not_unmapped,
          driver().cuMemUnmap(memory(2 * kGranule) / kGranule * kGranule, kGranule), CUDA_ERROR_INVALID_VALUE)

// ---- Granting access ----

TEST_F(VirtualMappings, Have_no_access_at_first) { EXPECT_VALUE(access_at(mapped()), 0ull); }
STATEMENT(VirtualMappings, Are_given_access, driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1),
          CUDA_SUCCESS)
TEST_F(VirtualMappings, Have_the_access_that_they_were_given) {
  const CUdeviceptr at = mapped();
  for (const int one : {CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READ,
                        CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}) {
    wanted.flags = access_flags(one);
    EXPECT_ANSWER(driver().cuMemSetAccess(at, kGranule, &wanted, 1), CUDA_SUCCESS);
    EXPECT_VALUE(access_at(at), static_cast<unsigned long long>(one));
  }
}
TEST_F(VirtualMappings, Are_given_no_access_of_flags_2) {
  wanted.flags = access_flags(2);
  EXPECT_ANSWER(driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Are_given_no_access_of_flags_4) {
  wanted.flags = access_flags(4);
  EXPECT_ANSWER(driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(VirtualMappings, Are_given_access_of_no_list,
          driver().cuMemSetAccess(mapped(), kGranule, nullptr, 1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_given_access_of_an_empty_list,
          driver().cuMemSetAccess(mapped(), kGranule, &wanted, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_given_no_access_to_no_bytes, driver().cuMemSetAccess(mapped(), 0, &wanted, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_given_no_access_to_4_KiB, driver().cuMemSetAccess(mapped(), 4096, &wanted, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Are_given_no_access_from_4_KiB_on,
          driver().cuMemSetAccess(mapped(2) + 4096, kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE)
TEST_F(VirtualMappings, Are_given_access_to_a_part) {
  const CUdeviceptr at = mapped(3);
  EXPECT_ANSWER(driver().cuMemSetAccess(at + kGranule, kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(access_at(at), 0ull);
  EXPECT_VALUE(access_at(at + kGranule), 0ull);
  EXPECT_VALUE(access_at(at + 2 * kGranule), 0ull);
}
TEST_F(VirtualMappings, Are_given_access_to_the_front) {
  const CUdeviceptr at = mapped(2);
  EXPECT_ANSWER(driver().cuMemSetAccess(at, kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(access_at(at), 0ull);
  EXPECT_VALUE(access_at(at + kGranule), 0ull);
}
TEST_F(VirtualMappings, Two_adjacent_ones_are_given_access_at_once) {
  const CUdeviceptr at = adjacent(2);
  EXPECT_ANSWER(driver().cuMemSetAccess(at, 2 * kGranule, &wanted, 1), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at), 3ull);
  EXPECT_VALUE(access_at(at + kGranule), 3ull);
}
TEST_F(VirtualMappings, One_of_two_is_given_access) {
  const CUdeviceptr at = adjacent(2);
  EXPECT_ANSWER(driver().cuMemSetAccess(at + kGranule, kGranule, &wanted, 1), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at), 0ull);
  EXPECT_VALUE(access_at(at + kGranule), 3ull);
}
TEST_F(VirtualMappings, Are_given_access_up_to_addresses_without_one) {
  const CUdeviceptr at = range(3 * kGranule);
  map(at, kGranule, physical());
  map(at + 2 * kGranule, kGranule, physical());
  EXPECT_ANSWER(driver().cuMemSetAccess(at, 3 * kGranule, &wanted, 1), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at), 3ull);
  EXPECT_VALUE(access_at(at + 2 * kGranule), 0ull);
}
STATEMENT(VirtualMappings, Allocated_memory_is_given_no_access,
          driver().cuMemSetAccess(memory(2 * kGranule) / kGranule * kGranule, kGranule, &wanted, 1),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(VirtualMappings, Are_given_no_access_of_device_99) {
  wanted = access(3, 99);
  EXPECT_ANSWER(driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Are_given_no_access_of_device_minus_1) {
  wanted = access(3, -1);
  EXPECT_ANSWER(driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Are_given_no_access_of_a_location_of_type_0) {
  wanted.location.type = location_type(0);
  EXPECT_ANSWER(driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMappings, Are_given_no_access_of_the_host) {
  wanted.location.type = location_type(kHost);
  EXPECT_ANSWER(driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1), CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(VirtualMappings, Are_given_no_access_of_a_host_numa_node) {
  wanted.location.type = location_type(kHostNuma);
  EXPECT_ANSWER(driver().cuMemSetAccess(mapped(), kGranule, &wanted, 1), CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(VirtualMappings, Are_given_the_access_of_a_list_that_names_a_device_twice) {
  const CUmemAccessDesc list[] = {access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
                                  access(CU_MEM_ACCESS_FLAGS_PROT_READ)};
  const CUdeviceptr at = mapped();
  EXPECT_ANSWER(driver().cuMemSetAccess(at, kGranule, list, 2), CUDA_SUCCESS);
  EXPECT_VALUE(access_at(at), 1ull);
}
TEST_F(VirtualMappings, Are_given_nothing_of_a_list_with_an_error) {
  const CUmemAccessDesc list[] = {access(), access(3, 99)};
  const CUdeviceptr at = mapped();
  EXPECT_ANSWER(driver().cuMemSetAccess(at, kGranule, list, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(access_at(at), 0ull);
}
TEST_F(VirtualMappings, Of_the_same_memory_have_their_own_access) {
  const Handle memory = physical();
  const CUdeviceptr one = grant(map(range(), kGranule, memory), kGranule);
  const CUdeviceptr other = map(range(), kGranule, memory);
  EXPECT_VALUE(access_at(one), 3ull);
  EXPECT_VALUE(access_at(other), 0ull);
}
TEST_F(VirtualMappings, Made_again_have_no_access) {
  const Handle memory = physical();
  const CUdeviceptr at = grant(map(range(), kGranule, memory), kGranule);
  NEED(driver().cuMemUnmap(at, kGranule));
  map(at, kGranule, memory);
  EXPECT_VALUE(access_at(at), 0ull);
}

// ---- Asking for access ----

STATEMENT(VirtualMappings, Access_needs_a_place, driver().cuMemGetAccess(nullptr, &location, mapped()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Access_needs_a_location, driver().cuMemGetAccess(&access_out, nullptr, mapped()),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(VirtualMappings, Access_is_told_at_the_last_byte) {
  const CUdeviceptr at = accessible();
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, at + kGranule - 1), CUDA_SUCCESS);
  EXPECT_VALUE(access_out, 3ull);
}
TEST_F(VirtualMappings, Access_of_device_99_is_not_told) {
  location.id = 99;
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, accessible()), CUDA_ERROR_INVALID_DEVICE);
}
TEST_F(VirtualMappings, Access_of_a_location_of_type_0_is_not_told) {
  location.type = location_type(0);
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, accessible()), CUDA_ERROR_INVALID_DEVICE);
}
TEST_F(VirtualMappings, Access_of_the_host_is_told) {
  location.type = location_type(kHost);
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, accessible()), CUDA_SUCCESS);
  EXPECT_VALUE(access_out, 3ull);
}
TEST_F(VirtualMappings, Access_of_the_host_is_told_without_any_access) {
  location.type = location_type(kHost);
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, mapped()), CUDA_SUCCESS);
  RECORD_VALUE(access_out);
}
TEST_F(VirtualMappings, Access_of_the_host_with_id_99_is_told) {
  location = {.type = location_type(kHost), .id = 99};
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, accessible()), CUDA_SUCCESS);
  RECORD_VALUE(access_out);
}
TEST_F(VirtualMappings, Access_of_a_host_numa_node_is_told) {
  location.type = location_type(kHostNuma);
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, accessible()), CUDA_SUCCESS);
  RECORD_VALUE(access_out);
}
TEST_F(VirtualMappings, Access_to_allocated_memory_is_told_as_none) {
  EXPECT_ANSWER(driver().cuMemGetAccess(&access_out, &location, memory(kGranule)), CUDA_SUCCESS);
  RECORD_VALUE(access_out);
}
STATEMENT(VirtualMappings, Access_to_null_is_not_told, driver().cuMemGetAccess(&access_out, &location, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMappings, Access_to_the_stack_is_not_told,
          driver().cuMemGetAccess(&access_out, &location, address_of(&number)), CUDA_ERROR_INVALID_VALUE)

}  // namespace
}  // namespace conformance
