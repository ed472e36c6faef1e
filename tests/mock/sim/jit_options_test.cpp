// SPDX-License-Identifier: Apache-2.0
// Options of calls that load modules and libraries. The results are those of an H200, in recorded random
// programs about kernels (tests/differential).
#include "support/machine_fixture.hpp"

#include <utility>
#include <vector>

namespace cushim::sim {
namespace {

class JitOptionValues : public ::testing::Test {
 protected:
  using Options = std::vector<std::pair<CUjit_option, std::size_t>>;
  CUresult load(const Options &options, const char *text) {
    std::vector<CUjit_option> names;
    std::vector<void *> values;
    for (const auto &[name, value] : options) {
      names.push_back(name);
      values.push_back(reinterpret_cast<void *>(value));
    }
    return driver().cuModuleLoadDataEx(&module_, text, static_cast<unsigned>(names.size()), names.data(),
                                       values.data());
  }
  CUresult load(const Options &options) {
    const CUresult result = load(options, text_);
    if (result == CUDA_SUCCESS) need(driver().cuModuleUnload(module_));
    return result;
  }
  CUresult load(CUjit_option option, std::size_t value) { return load({{option, value}}); }

  static constexpr const char *text_ =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";
  CUmodule module_ = nullptr;
  const Running running_;
};

TEST_F(JitOptionValues, An_unknown_option_is_refused) {
  EXPECT_EQ(load(static_cast<CUjit_option>(40), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(static_cast<CUjit_option>(63), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(JitOptionValues, No_registers_and_an_unknown_cache_mode_are_refused) {
  EXPECT_EQ(load(CU_JIT_MAX_REGISTERS, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(CU_JIT_MAX_REGISTERS, 16), CUDA_SUCCESS);
  EXPECT_EQ(load(CU_JIT_CACHE_MODE, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(CU_JIT_CACHE_MODE, 2), CUDA_SUCCESS);
}

TEST_F(JitOptionValues, A_target_must_exist_be_high_enough_and_run_on_the_device) {
  EXPECT_EQ(load(CU_JIT_TARGET, 7), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(CU_JIT_TARGET, 35), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(CU_JIT_TARGET, 91), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(CU_JIT_TARGET, 52), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load(CU_JIT_TARGET, 80), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_EQ(load(CU_JIT_TARGET, 90), CUDA_SUCCESS);
  EXPECT_EQ(load(CU_JIT_TARGET, 100), CUDA_ERROR_INVALID_SOURCE);
}

TEST_F(JitOptionValues, The_last_of_equal_options_counts) {
  EXPECT_EQ(load({{CU_JIT_TARGET, 7}, {CU_JIT_TARGET, 90}}), CUDA_SUCCESS);
  EXPECT_EQ(load({{CU_JIT_TARGET, 90}, {CU_JIT_TARGET, 80}}), CUDA_ERROR_INVALID_SOURCE);
}

TEST_F(JitOptionValues, Code_with_debug_information_is_not_optimized) {
  EXPECT_EQ(load({{CU_JIT_GENERATE_DEBUG_INFO, 1}, {CU_JIT_OPTIMIZATION_LEVEL, 0}}), CUDA_SUCCESS);
  EXPECT_EQ(load({{CU_JIT_GENERATE_DEBUG_INFO, 1}, {CU_JIT_OPTIMIZATION_LEVEL, 2}}), CUDA_ERROR_INVALID_PTX);
}

TEST_F(JitOptionValues, An_error_of_the_text_comes_before_that_of_another_device) {
  EXPECT_EQ(load({{CU_JIT_TARGET, 80}}, ".version 7.0\n.target sm_70\n.visible .entry k() { frob; }\n"),
            CUDA_ERROR_INVALID_PTX);
}

#if CUDA_VERSION >= 12040
TEST_F(JitOptionValues, Debug_information_reverses_the_kernels_of_a_module) {
  constexpr const char *kTwo =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry a() { ret; }\n.visible .entry b() { "
      "ret; }\n";
  CUfunction functions[2] = {};
  const char *name = nullptr;
  for (const bool is_debugged : {false, true}) {
    need(load({{CU_JIT_GENERATE_DEBUG_INFO, std::size_t{is_debugged}}}, kTwo));
    need(driver().cuModuleEnumerateFunctions(functions, 2, module_));
    need(driver().cuFuncGetName(&name, functions[0]));
    EXPECT_STREQ(name, is_debugged ? "b" : "a");
    need(driver().cuModuleUnload(module_));
  }
}
#endif

#if CUDA_VERSION >= 12000
TEST_F(JitOptionValues, Kernels_for_another_device_are_found_and_have_no_functions) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUjit_option option = CU_JIT_TARGET;
  void *value = reinterpret_cast<void *>(std::size_t{80});
  need(driver().cuLibraryLoadData(&library, text_, &option, &value, 1, nullptr, nullptr, 0));
  EXPECT_EQ(driver().cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_SOURCE);
}

TEST_F(JitOptionValues, An_unknown_option_of_a_library_is_refused) {
  CUlibrary library = nullptr;
  CUlibraryOption option = static_cast<CUlibraryOption>(9);
  void *values[] = {nullptr};
  EXPECT_EQ(driver().cuLibraryLoadData(&library, text_, nullptr, nullptr, 0, &option, values, 1),
            CUDA_ERROR_INVALID_VALUE);
  option = CU_LIBRARY_BINARY_IS_PRESERVED;
  EXPECT_EQ(driver().cuLibraryLoadData(&library, text_, nullptr, nullptr, 0, &option, values, 1),
            CUDA_SUCCESS);
}
#endif

}  // namespace
}  // namespace cushim::sim
