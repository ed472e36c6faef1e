// SPDX-License-Identifier: Apache-2.0
// Kernels whose registers limit the threads of a block.
#include <string>

#include "support/kernels.hpp"
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

// Returns a kernel with 104 registers by the simulated driver's estimate.
std::string kernel(const std::string &name, const std::string &bounds) {
  std::string text = ".visible .entry " + name + "() " + bounds + " { .reg .f32 s<200>;\n";
  for (int i = 0; i < 200; ++i) text += "mov.f32 s" + std::to_string(i) + ", 0f00000000;\n";
  return text + "ret; }\n";
}

const std::string kPtx = ".version 7.8\n.target sm_52\n.address_size 64\n" + kernel("many", "") +
                         kernel("bounded", ".maxntid 1024, 1, 1");

class Occupancy : public ::testing::Test {
 protected:
  CUfunction function(const char *name) const { return test::kernel_of(module, name); }
  int attribute(const char *name, CUfunction_attribute which) const {
    int value = 0;
    need(driver().cuFuncGetAttribute(&value, which, function(name)));
    return value;
  }
  int blocks(const char *name, int threads) const {
    int found = -1;
    need(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&found, function(name), threads, 0));
    return found;
  }

  Running running;
  CUmodule module = test::loaded_module(kPtx);
};

// As a kernel with 104 registers on an H200, driver 580.
TEST_F(Occupancy, Fits_blocks_of_as_many_threads_as_the_function_allows) {
  ASSERT_EQ(attribute("many", CU_FUNC_ATTRIBUTE_NUM_REGS), 104);
  EXPECT_EQ(attribute("many", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 512);
  EXPECT_EQ(blocks("many", 512), 1);
  EXPECT_EQ(blocks("many", 544), 0);
}

TEST_F(Occupancy, Fits_blocks_of_the_bounds_of_the_kernel) {
  EXPECT_EQ(attribute("bounded", CU_FUNC_ATTRIBUTE_NUM_REGS), 64);
  EXPECT_EQ(attribute("bounded", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(blocks("bounded", 1024), 1);
}

}  // namespace
}  // namespace cushim::sim
