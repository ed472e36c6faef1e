// SPDX-License-Identifier: Apache-2.0
// Attributes and settings of kernels, and the number of their blocks that fit on a multiprocessor.
#include <tuple>

#include "kernels.hpp"

namespace conformance {
namespace {

class Functions : public OnModule {};

// ---- Attributes ----

// Without the registers and the binary version, which differ between devices and compilers.
const bool attributes_told = [] {
  for (const auto &[kernel, attribute, value] :
       std::initializer_list<std::tuple<const char *, CUfunction_attribute, int>>{
           {"empty", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
           {"bounded", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 128},
           {"exact", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
           {"empty", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0},
           {"bounded", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 112},
           {"empty", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0},
           {"empty", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 4},
           {"empty", CU_FUNC_ATTRIBUTE_PTX_VERSION, 52},
           {"empty", CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 0},
           {"empty", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152},
           {"bounded", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49040},
           {"empty", CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1},
           {"empty", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 0},
           {"empty", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0},
           {"empty", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 0},
           {"empty", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 0},
           {"empty", CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0},
           {"empty", CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 0}})
    ADD_TEST(Functions, std::string("The_attribute_") + std::to_string(attribute) + "_of_" + kernel,
             [kernel = kernel, attribute = attribute, value = value](Functions &test) {
               expect_answer(__FILE__, __LINE__,
                             "cuFuncGetAttribute(&test.number, one.attribute, test.kernel(one.kernel))",
                             driver().cuFuncGetAttribute(&test.number, attribute, test.kernel(kernel)),
                             CUDA_SUCCESS);
               EXPECT_VALUE(test.number, value);
             });
  return true;
}();

STATEMENT(Functions, An_attribute_needs_a_place,
          driver().cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel("empty")),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Functions, An_attribute_is_of_a_function,
          driver().cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(Functions, There_is_no_attribute_99,
          driver().cuFuncGetAttribute(&number, static_cast<CUfunction_attribute>(99), kernel("empty")),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Functions, There_is_no_negative_attribute,
          driver().cuFuncGetAttribute(&number, static_cast<CUfunction_attribute>(-1), kernel("empty")),
          CUDA_ERROR_INVALID_VALUE)

const bool attributes_set = [] {
  const auto add = [](int attribute, int value, CUresult code) {
    ADD_TEST(Functions,
             "The_attribute_" + std::to_string(attribute) + "_is_set_to_" + (value < 0 ? "minus_" : "") +
                 std::to_string(std::abs(value)),
             [=](Functions &test) {
               EXPECT_ANSWER(driver().cuFuncSetAttribute(test.kernel("empty"),
                                                         static_cast<CUfunction_attribute>(attribute), value),
                             code);
             });
  };
  for (const int bytes : {0, 1000, 49152, 49153}) add(8, bytes, CUDA_SUCCESS);
  for (const int bytes : {-1, 1 << 20}) add(8, bytes, CUDA_ERROR_INVALID_VALUE);
  for (const int percent : {-1, 0, 50, 100}) add(9, percent, CUDA_SUCCESS);
  for (const int percent : {-2, 101}) add(9, percent, CUDA_ERROR_INVALID_VALUE);
  for (const int fixed : {0, 1, 2, 3, 4, 5, 6, 7, 10}) add(fixed, 1, CUDA_ERROR_INVALID_VALUE);
  for (const int cluster : {11, 12, 13, 14, 15}) add(cluster, 1, CUDA_SUCCESS);
  return true;
}();

TEST_F(Functions, What_is_set_is_read_back) {
  NEED(driver().cuFuncSetAttribute(kernel("empty"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
  EXPECT_ANSWER(
      driver().cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel("empty")),
      CUDA_SUCCESS);
  EXPECT_VALUE(number, 60000);
}

const bool preferences_taken = [] {
  for (int config = -1; config <= 4; ++config)
    ADD_TEST(Functions, "The_cache_is_divided_by_" + std::to_string(config + 1), [config](Functions &test) {
      EXPECT_ANSWER(driver().cuFuncSetCacheConfig(test.kernel("empty"), static_cast<CUfunc_cache>(config)),
                    config >= 0 && config <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    });
  for (int config = -1; config <= 3; ++config)
    ADD_TEST(Functions, "Banks_are_as_wide_as_by_" + std::to_string(config + 1), [config](Functions &test) {
      EXPECT_ANSWER(
          driver().cuFuncSetSharedMemConfig(test.kernel("empty"), static_cast<CUsharedconfig>(config)),
          config >= 0 && config <= 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    });
  return true;
}();

// ---- Parameters, name and module ----

#if CUDA_VERSION >= 12040
struct Parameter {
  const char *kernel;
  std::size_t index;
  CUresult code;
  std::size_t offset, size;
};
const bool parameters_told = [] {
  for (const Parameter &one :
       std::initializer_list<Parameter>{{"write", 0, CUDA_SUCCESS, 0, 8},
                                        {"write", 1, CUDA_SUCCESS, 8, 4},
                                        {"write", 2, CUDA_ERROR_INVALID_VALUE, 99, 99},
                                        {"exact", 0, CUDA_SUCCESS, 0, 20},
                                        {"exact", 1, CUDA_SUCCESS, 20, 1},
                                        {"exact", 2, CUDA_SUCCESS, 24, 8},
                                        {"exact", 3, CUDA_ERROR_INVALID_VALUE, 99, 99},
                                        {"empty", 0, CUDA_ERROR_INVALID_VALUE, 99, 99}})
    ADD_TEST(Functions, "The_parameter_" + std::to_string(one.index) + "_of_" + one.kernel,
             [one](Functions &test) {
               std::size_t offset = 99, bytes = 99;
               EXPECT_ANSWER(driver().cuFuncGetParamInfo(test.kernel(one.kernel), one.index, &offset, &bytes),
                             one.code);
               EXPECT_VALUE(offset, one.offset);
               EXPECT_VALUE(bytes, one.size);
             });
  return true;
}();

STATEMENT(Functions, A_parameters_offset_is_always_told,
          driver().cuFuncGetParamInfo(kernel("write"), 0, nullptr, &size), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Functions, A_parameters_size_is_told_if_asked,
          driver().cuFuncGetParamInfo(kernel("write"), 0, &size, nullptr), CUDA_SUCCESS)

TEST_F(Functions, Are_loaded_when_they_are_found) {
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
  EXPECT_ANSWER(driver().cuFuncIsLoaded(&state, kernel("empty")), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(state), int{CU_FUNCTION_LOADING_STATE_LOADED});
}

TEST_F(Functions, Know_their_names) {
  const char *name = nullptr;
  EXPECT_ANSWER(driver().cuFuncGetName(&name, kernel("write")), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(name), "write");
}
TEST_F(Functions, That_are_null_have_no_name) {
  const char *name = nullptr;
  EXPECT_ANSWER(driver().cuFuncGetName(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
}
#endif

#if CUDA_VERSION >= 11080
TEST_F(Functions, Fit_into_clusters_of_the_portable_size) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  int blocks = 0;
  EXPECT_ANSWER(driver().cuOccupancyMaxPotentialClusterSize(&blocks, kernel("empty"), &config), CUDA_SUCCESS);
  EXPECT_VALUE(blocks, 8);
}
#endif

TEST_F(Functions, Know_their_module) {
  EXPECT_ANSWER(driver().cuFuncGetModule(&module_out, kernel("write")), CUDA_SUCCESS);
  EXPECT_VALUE(module_out == module, true);
}

// ---- Occupancy ----

const bool occupancy_told = [] {
  for (const int threads : {1, 32, 33, 64, 128, 256, 512, 1024})
    for (const std::size_t shared : {0, 1000, 20000, 49152})
      ADD_TEST(Functions,
               "Blocks_of_" + std::to_string(threads) + "_threads_and_" + std::to_string(shared) +
                   "_bytes_are_resident",
               [=](Functions &test) {
                 EXPECT_ANSWER(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                   &test.number, test.kernel("write"), threads, shared),
                               CUDA_SUCCESS);
                 RECORD_VALUE(test.number);
               });
  return true;
}();

STATEMENT(Functions, More_shared_memory_than_is_allowed_leaves_no_block,
          driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, kernel("write"), 32, 100000),
          CUDA_SUCCESS)
STATEMENT(Functions, Larger_blocks_than_there_are_leave_no_block,
          driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, kernel("write"), 1025, 0),
          CUDA_SUCCESS)
STATEMENT(Functions, Blocks_of_no_threads_are_refused,
          driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, kernel("write"), 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Functions, Blocks_of_less_than_no_threads_are_refused,
          driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, kernel("write"), -1, 0),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Functions, The_best_block_is_told) {
  int grid = 0, block = 0;
  EXPECT_ANSWER(driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel("write"), nullptr, 0, 0),
                CUDA_SUCCESS);
  RECORD_VALUE(grid);
  EXPECT_VALUE(block, 1024);
  EXPECT_ANSWER(driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel("bounded"), nullptr, 0, 0),
                CUDA_SUCCESS);
  RECORD_VALUE(grid);
  EXPECT_VALUE(block, 128);
}

TEST_F(Functions, The_preferred_carveout_counts_for_blocks_of_a_given_size) {
  constexpr std::size_t kShared = 16384;
  const CUfunction write = kernel("write");
  int grid = 0, block = 0;
  for (const int carveout : {0, 1, 50, 100}) {
    NEED(driver().cuFuncSetAttribute(write, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carveout));
    EXPECT_ANSWER(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, write, 32, kShared),
                  CUDA_SUCCESS);
    RECORD_VALUE(number);
    // Without a size, only 0 counts.
    EXPECT_ANSWER(driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, write, nullptr, kShared, 0),
                  CUDA_SUCCESS);
    RECORD_VALUE(grid);
  }
}

TEST_F(Functions, The_shared_memory_that_blocks_leave_is_told) {
  for (const int blocks : {1, 2, 16}) {
    EXPECT_ANSWER(driver().cuOccupancyAvailableDynamicSMemPerBlock(&size, kernel("bounded"), blocks, 32),
                  CUDA_SUCCESS);
    RECORD_VALUE(size);
  }
}

}  // namespace
}  // namespace conformance
