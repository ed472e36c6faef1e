// SPDX-License-Identifier: Apache-2.0
// Kernels that access memory outside allocations: a device notices it only outside the blocks of 2 MiB that
// it maps.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/machine_fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::sim {
namespace {

constexpr std::uint64_t kBlock = 2 << 20;

// store() writes 7 to a word.
constexpr const char *kKernel = CUSHIM_PTX_HEADER R"(
.visible .entry store(.param .u64 to)
{
  .reg .u64 %to;
  .reg .u32 %seven;
  ld.param.u64 %to, [to];
  mov.u32 %seven, 7;
  st.global.u32 [%to], %seven;
  ret;
}
)";

class KernelBlocks : public ::testing::Test {
 protected:
  KernelBlocks() {
    CUmodule module = nullptr;
    need(driver().cuModuleLoadData(&module, kKernel));
    need(driver().cuModuleGetFunction(&store_, module, "store"));
  }
  CUresult store_at(CUdeviceptr to) {
    void *parameters[] = {&to};
    need(driver().cuLaunchKernel(store_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    return driver().cuCtxSynchronize();
  }

  Running running_;
  CUfunction store_ = nullptr;
};

TEST_F(KernelBlocks, Behind_a_small_allocation_is_written_without_an_error) {
  const CUdeviceptr memory = running_.memory(100);
  EXPECT_EQ(store_at(memory + 100), CUDA_SUCCESS);
  EXPECT_EQ(store_at(memory + 512), CUDA_SUCCESS);
  std::vector<unsigned> words(25);
  EXPECT_EQ(driver().cuMemcpyDtoH(words.data(), memory, 100), CUDA_SUCCESS) << "the context works";
}

TEST_F(KernelBlocks, Behind_an_allocation_another_one_is_changed) {
  const CUdeviceptr first = running_.memory(512), second = running_.memory(512);
  ASSERT_EQ(first / kBlock, second / kBlock);
  unsigned word = 0;
  EXPECT_EQ(store_at(second), CUDA_SUCCESS);
  need(driver().cuMemFree(first));
  EXPECT_EQ(store_at(first), CUDA_SUCCESS)
      << "the block of a freed allocation is mapped while it has another one";
  EXPECT_EQ(driver().cuMemcpyDtoH(&word, second, sizeof word), CUDA_SUCCESS);
  EXPECT_EQ(word, 7u);
}

TEST_F(KernelBlocks, Behind_a_large_allocation_the_rest_of_its_last_block_is_written_without_an_error) {
  const CUdeviceptr memory = running_.memory(3 * kBlock - 4096);
  EXPECT_EQ(store_at(memory + 3 * kBlock - 4), CUDA_SUCCESS);
}

TEST_F(KernelBlocks, Without_an_allocation_are_an_illegal_address) {
  const CUdeviceptr memory = running_.memory(2 * kBlock);
  need(driver().cuMemFree(memory));
  EXPECT_EQ(store_at(memory + kBlock), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace cushim::sim
