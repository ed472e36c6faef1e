// SPDX-License-Identifier: Apache-2.0
// Selects checkers by name.
#include <cushim/check/checkers.hpp>

#include <stdexcept>
#include <thread>

#include "../fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::check {
namespace {

class Named : public OnDevice {};

TEST_F(Named, Several_are_enabled_by_name) {
  Checkers checkers(current_driver(), "leaks,misuse");
  const CUevent twice = event();
  const CUevent kept = event();
  need(driver().cuEventDestroy(twice));
  driver().cuEventDestroy(twice);
  const std::vector<Finding> findings = checkers.finish();
  need(driver().cuEventDestroy(kept));
  ASSERT_EQ(findings.size(), 2u) << words_of(findings);
  EXPECT_EQ(findings[0].checker, "leaks");
  EXPECT_EQ(findings[1].checker, "misuse");
}

struct Last {
  ~Last() { result = driver().cuCtxSynchronize(); }
  CUresult &result;
};

TEST_F(Named, They_see_calls_of_the_last_destructors_of_a_thread) {
  Checkers checkers(current_driver(), "leaks,misuse,hazards,deadlock");
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    thread_local const Last last{result};  // constructed before the checkers' data of the thread, so
                                           // destroyed after it
    need(driver().cuCtxSetCurrent(context_));
    need(driver().cuCtxSynchronize());
    static_cast<void>(&last);
  }).join();
  EXPECT_EQ(result, CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(checkers.finish()));
}

// Stores a word.
constexpr const char *kStore = CUSHIM_PTX_HEADER R"(
.visible .entry store(.param .u64 to)
{
  .reg .u64 %d0;
  ld.param.u64 %d0, [to];
  st.global.u64 [%d0], %d0;
  ret;
}
)";

TEST_F(Named, Hazards_are_found_with_kernels_and_without) {
  CUmodule module = nullptr;
  CUfunction store = nullptr;
  need(driver().cuModuleLoadData(&module, kStore));
  need(driver().cuModuleGetFunction(&store, module, "store"));
  for (const bool has_kernels : {true, false}) {
    Checkers checkers(current_driver(), has_kernels ? "hazards" : "hazards-without-kernels");
    const CUstream a = stream(), b = stream();
    CUdeviceptr from = memory();
    void *parameters[] = {&from};
    need(driver().cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, a, parameters, nullptr));
    need(driver().cuMemcpyDtoDAsync(from + 1024, from, 64, b));
    need(driver().cuCtxSynchronize());
    const std::vector<Finding> findings = checkers.finish();
    need(driver().cuMemFree(from));
    for (const CUstream each : {a, b}) need(driver().cuStreamDestroy(each));
    if (has_kernels)
      EXPECT_TRUE(is_only(findings, "unordered"));
    else
      EXPECT_TRUE(is_clean(findings));
  }
  need(driver().cuModuleUnload(module));
}

TEST_F(Named, An_unknown_name_throws_with_the_nearest_name) {
  try {
    const Checkers checkers(current_driver(), "leaks,misue");
    FAIL();
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "there is no checker \"misue\"; did you mean \"misuse\"?");
  }
}

}  // namespace
}  // namespace cushim::check
