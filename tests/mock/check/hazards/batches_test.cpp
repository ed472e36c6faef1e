// SPDX-License-Identifier: Apache-2.0
// Batches of copies and discards: each copy of a batch is an access of the stream.
#include <gtest/gtest.h>
#include <cushim/check/hazards.hpp>
#include <cushim/sim/machine.hpp>

#include "support/machine_fixture.hpp"

namespace cushim::check {
namespace {

using sim::need;
using sim::Running;
using Names = std::vector<std::string>;

const Names kNone;
const Names kUnordered{"unordered"};

class BatchHazards : public ::testing::Test {
 protected:
  Names rules() {
    Names names;
    for (const Finding &finding : checker.finish()) names.push_back(finding.rule);
    return names;
  }

  const Running running{{.schedule = sim::Schedule::deferred}};
  Hazards checker{driver()};
  const CUstream a = running.stream(), b = running.stream();
  const CUdeviceptr one = running.memory(), other = running.memory(), target = running.memory();
};

TEST_F(BatchHazards, A_discard_is_a_write_of_its_ranges_only) {
  CUdeviceptr managed = 0;
  need(driver().cuMemAllocManaged(&managed, 8192, CU_MEM_ATTACH_GLOBAL));
  std::size_t size = 4096;
  need(driver().cuMemDiscardBatchAsync(&managed, &size, 1, 0, a));
  need(driver().cuMemsetD8Async(managed + 4096, 1, 4096, b));
  EXPECT_EQ(rules(), kNone);
  need(driver().cuMemsetD8Async(managed + 4095, 1, 1, b));
  EXPECT_EQ(rules(), kUnordered);
}

#if CUDA_VERSION >= 13000

class CopyBatchHazards : public BatchHazards {
 protected:
  // Copies 64 bytes of both sources to the target, in stream `a`.
  void copy_both(CUmemcpySrcAccessOrder second_order) {
    CUdeviceptr targets[] = {target, target + 64}, sources[] = {one, other};
    std::size_t sizes[] = {64, 64}, first[] = {0, 1};
    CUmemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    attributes[1].srcAccessOrder = second_order;
    need(driver().cuMemcpyBatchAsync_v2(targets, sources, sizes, 2, attributes, first, 2, a));
  }
};

TEST_F(CopyBatchHazards, Other_bytes_are_not_accessed) {
  copy_both(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
  for (const CUdeviceptr beside : {one + 64, other + 64, target + 128})
    need(driver().cuMemsetD8Async(beside, 1, 64, b));
  EXPECT_EQ(rules(), kNone);
}

TEST_F(CopyBatchHazards, Each_source_is_read) {
  copy_both(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
  need(driver().cuMemsetD8Async(other + 63, 1, 1, b));
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(CopyBatchHazards, Each_target_is_written) {
  copy_both(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
  need(driver().cuMemsetD8Async(target + 127, 1, 1, b));
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(CopyBatchHazards, A_source_that_was_read_during_the_call_may_change) {
  copy_both(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
  need(driver().cuMemsetD8Async(other, 1, 64, b));
  EXPECT_EQ(rules(), kNone);
  need(driver().cuMemsetD8Async(one, 1, 64, b));
  EXPECT_EQ(rules(), kUnordered);
}

class CopyBatchHazards3D : public BatchHazards {
 protected:
  CopyBatchHazards3D() {
    const CUDA_ARRAY3D_DESCRIPTOR shape{16, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
    need(driver().cuArray3DCreate(&array, &shape));
    CUDA_MEMCPY3D_BATCH_OP copy{};
    copy.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    copy.src.op.array = {array, {8, 1, 0}};
    copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copy.dst.op.ptr.ptr = target;
    copy.dst.op.ptr.rowLength = 16;
    copy.extent = {8, 2, 1};
    copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    need(driver().cuMemcpy3DBatchAsync_v2(1, &copy, 0, a));
  }
  // Writes the row of the array from an element on, in stream `b`.
  void write_array(std::size_t element, std::size_t count, std::size_t row) const {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = one;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.dstXInBytes = 4 * element;
    copy.dstY = row;
    copy.WidthInBytes = 4 * count;
    copy.Height = 1;
    need(driver().cuMemcpy2DAsync(&copy, b));
  }

  CUarray array = nullptr;
};

TEST_F(CopyBatchHazards3D, Elements_and_rows_beside_the_copy_are_not_accessed) {
  write_array(0, 8, 1);                                   // left of it
  write_array(0, 16, 3);                                  // below it
  need(driver().cuMemsetD8Async(target + 32, 1, 32, b));  // behind its first row
  EXPECT_EQ(rules(), kNone);
}

TEST_F(CopyBatchHazards3D, The_last_element_of_the_array_is_read) {
  write_array(15, 1, 2);
  EXPECT_EQ(rules(), kUnordered);
}

TEST_F(CopyBatchHazards3D, The_last_byte_of_the_target_is_written) {
  need(driver().cuMemsetD8Async(target + 64 + 31, 1, 1, b));
  EXPECT_EQ(rules(), kUnordered);
}

#endif

}  // namespace
}  // namespace cushim::check
