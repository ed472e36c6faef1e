// SPDX-License-Identifier: Apache-2.0
// Pageable memory that calls name by addresses of devices, freed memory, and file descriptors in calls that
// are made again.
#include <cushim/exact.hpp>

#include <unistd.h>

#include <cstring>

#include "mapping.hpp"
#include "played.hpp"
#include "stand_ins.hpp"
#include "support/structures.hpp"

namespace cushim::test {
namespace {

CUdeviceptr address_of(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }

// Sets both ends of a copy to memory given by addresses of unknown kind.
template <class Copy>
void make_unified(Copy &copy, CUdeviceptr to, CUdeviceptr from) {
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = from;
  copy.dstDevice = to;
}

class PlayedAddresses : public Player {};

TEST_F(PlayedAddresses, Rows_of_pageable_memory_are_copied_by_addresses_of_unified_memory) {
  expect_equal([](Driver &driver) {
    CUdeviceptr memory = 0;
    unsigned char sent[8 * 16], received[8 * 16] = {};
    std::memset(sent, 7, sizeof sent);
    EXPECT_EQ(driver.cuMemAlloc(&memory, 1024), CUDA_SUCCESS);
    CUDA_MEMCPY2D there = copy_of_plane(memory, sent, 16, 6);
    make_unified(there, memory, address_of(sent));
    there.srcY = 1;  // rows without a pitch follow each other
    EXPECT_EQ(driver.cuMemcpy2D(&there), CUDA_SUCCESS);
    CUDA_MEMCPY3D back = copy_of_box(static_cast<void *>(received), memory, 16, 6);
    make_unified(back, address_of(received), memory);
    EXPECT_EQ(driver.cuMemcpy3D(&back), CUDA_SUCCESS);
    EXPECT_EQ(received[95], 7);
    EXPECT_EQ(driver.cuMemcpyDtoH(received, memory, 96), CUDA_SUCCESS);
  });
}

TEST_F(PlayedAddresses, Bytes_that_the_host_wrote_to_managed_memory_are_copied_by_rows) {
  expect_equal([](Driver &driver) {
    CUdeviceptr managed = 0, memory = 0;
    unsigned char received[64] = {};
    EXPECT_EQ(driver.cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&memory, 64), CUDA_SUCCESS);
    std::memset(reinterpret_cast<void *>(managed), 9, 64);
    const CUDA_MEMCPY2D copy = copy_of_plane(memory, managed, 16, 4);
    EXPECT_EQ(driver.cuMemcpy2D(&copy), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoH(received, memory, sizeof received), CUDA_SUCCESS);
    EXPECT_EQ(received[63], 9);
  });
}

#if CUDA_VERSION >= 13000
TEST_F(PlayedAddresses, Batches_of_copies_read_and_write_pageable_memory) {
  expect_equal([](Driver &driver) {
    CUstream stream = nullptr;
    CUdeviceptr memory = 0;
    unsigned char sent[32], received[32] = {};
    std::memset(sent, 5, sizeof sent);
    EXPECT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&memory, sizeof sent), CUDA_SUCCESS);
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    std::size_t first = 0, size = sizeof sent;
    for (auto [to, from] : {std::pair(memory, address_of(sent)), std::pair(address_of(received), memory)})
      EXPECT_EQ(driver.cuMemcpyBatchAsync(&to, &from, &size, 1, &attributes, &first, 1, stream),
                CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(received[31], 5);
    EXPECT_EQ(driver.cuMemcpyDtoH(received, memory, sizeof received), CUDA_SUCCESS);
  });
}
#endif

#if CUDA_VERSION >= 12080
TEST_F(PlayedAddresses, Boxes_of_pageable_memory_are_copied_in_batches) {
  expect_equal([](Driver &driver) {
    char from[16], received[16] = {};
    std::memset(from, 3, sizeof from);
    CUdeviceptr to = 0;
    std::size_t failed = 0;
    CUstream stream = nullptr;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuMemAlloc(&to, sizeof from);
    CUDA_MEMCPY3D_BATCH_OP copy{};
    copy.src.type = copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copy.src.op.ptr.ptr = address_of(from);
    copy.dst.op.ptr.ptr = to;
    copy.extent = {sizeof from, 1, 1};
    copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    EXPECT_EQ(exact::cuMemcpy3DBatchAsync_v12080(driver)(1, &copy, &failed, 0, stream), CUDA_SUCCESS);
    driver.cuStreamSynchronize(stream);
    driver.cuMemcpyDtoH(received, to, sizeof received);
    EXPECT_EQ(received[15], 3);
  });
}
#endif

TEST_F(PlayedAddresses, Attributes_of_pageable_memory_are_queried_of_other_pageable_memory) {
  expect_equal([](Driver &driver) {
    int pageable = 0;
    unsigned type = 1;
    EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(&pageable)),
              CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *values[] = {&type};
    EXPECT_EQ(driver.cuPointerGetAttributes(1, &attribute, values, address_of(&pageable)), CUDA_SUCCESS);
  });
}

TEST_F(PlayedAddresses, A_call_that_failed_because_of_an_address_fails_again) {
  expect_equal([](Driver &driver) {
    int pageable = 0;
    EXPECT_EQ(driver.cuMemFree(address_of(&pageable)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemsetD8(0xabc, 1, 1), CUDA_ERROR_INVALID_VALUE);
    void *pinned = nullptr;
    EXPECT_EQ(driver.cuMemHostAlloc(&pinned, 4096, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemHostRegister(pinned, 4096, 0), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(PlayedAddresses, Members_of_a_copy_that_its_memory_types_do_not_name_are_not_replaced) {
  expect_equal([](Driver &driver) {
    CUdeviceptr memory = 0;
    char pageable[64] = {};
    EXPECT_EQ(driver.cuMemAlloc(&memory, 64), CUDA_SUCCESS);
    CUDA_MEMCPY2D copy = copy_of_plane(memory, memory + 32, 8, 2);
    copy.srcHost = pageable;
    copy.dstArray = reinterpret_cast<CUarray>(pageable);
    EXPECT_EQ(driver.cuMemcpy2D(&copy), CUDA_SUCCESS);
  });
}

TEST_F(PlayedAddresses, A_process_that_imports_what_it_has_exported_gets_its_own_descriptor) {
  expect_equal([](Driver &driver) {
    CUmemGenericAllocationHandle made = 0, opened = 0;
    int descriptor = -1;
    auto properties = device_memory();
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    EXPECT_EQ(driver.cuMemCreate(&made, std::size_t{2} << 20, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(
        driver.cuMemExportToShareableHandle(&descriptor, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemImportFromShareableHandle(
                  &opened, reinterpret_cast<void *>(static_cast<std::uintptr_t>(descriptor)),
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_SUCCESS);
    close(descriptor);
    EXPECT_EQ(driver.cuMemRelease(opened), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemRelease(made), CUDA_SUCCESS);
  });
}

TEST_F(PlayedAddresses, A_failed_launch_of_a_kernel_that_was_launched_before_is_made_again) {
  expect_equal([](Driver &driver) {
    const CUfunction kernel = kernel_of(driver, kAdd, "add");
    CUdeviceptr memory = 0;
    unsigned add = 1;
    void *parameters[] = {&memory, &add};
    EXPECT_EQ(driver.cuMemAlloc(&memory, 4), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 5000, 1, 1, 0, nullptr, parameters, nullptr),
              CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(Mapping, Freed_memory_is_known_but_the_host_has_other_memory_there) {
  replay::Mapping mapping;
  mapping.add_memory(0x100000, {.size = 4096, .replayed = 0x200000, .is_host_accessible = true});
  EXPECT_NE(mapping.host_memory(0x100010, 16), nullptr);
  mapping.end_memory(0x100000, false);
  EXPECT_EQ(mapping.host_memory(0x100010, 16), nullptr);
  EXPECT_EQ(mapping.live_memory_at(0x100010), nullptr);
  EXPECT_EQ(mapping.address(0x100010), 0x200010);
}

TEST(StandIns, Keep_the_distances_of_the_recorded_addresses) {
  replay::StandIns stand_ins;
  const std::uint64_t first = stand_ins.of(0x7f0012345678), near = stand_ins.of(0x7f0012345700);
  EXPECT_EQ(near - first, 0x88U);
  EXPECT_EQ(first % 4096, 0x678U);
  EXPECT_EQ(stand_ins.of(0x7f0012345678), first);
  EXPECT_EQ(stand_ins.of(17), 17U) << "no address of a process";
  *reinterpret_cast<volatile char *>(first) = 1;
}

}  // namespace
}  // namespace cushim::test
