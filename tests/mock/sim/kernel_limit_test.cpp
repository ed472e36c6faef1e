// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

// wait() ends when the word is not 0.
constexpr const char *kKernel = R"(
.version 7.8
.target sm_52
.address_size 64
.visible .entry wait(.param .u64 word)
{
  .reg .u64 %word;
  .reg .u32 %value;
  .reg .pred %is_zero;
  ld.param.u64 %word, [word];
AGAIN:
  ld.volatile.global.u32 %value, [%word];
  setp.eq.u32 %is_zero, %value, 0;
  @%is_zero bra AGAIN;
  ret;
}
)";

struct Answer {
  CUresult code;
  std::string report;
};

// Launches wait() for a word with this value.
Answer wait_for(unsigned value, std::uint64_t limit) {
  Answer answer{};
  Options options{.kernel_limit = limit};
  options.report = [&answer](const std::string &text) { answer.report += text; };
  const Running running(options);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(driver().cuModuleLoadData(&module, kKernel));
  need(driver().cuModuleGetFunction(&function, module, "wait"));
  CUdeviceptr word = running.memory(4);
  need(driver().cuMemsetD32(word, value, 1));
  void *parameters[] = {&word};
  need(driver().cuLaunchKernel(function, 3, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  answer.code = driver().cuCtxSynchronize();
  return answer;
}

TEST(KernelLimit, Ends_a_kernel_that_waits_forever_and_names_its_line) {
  const Answer answer = wait_for(0, 100'000);
  EXPECT_EQ(answer.code, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_NE(answer.report.find("kernel wait: instruction budget"), std::string::npos) << answer.report;
  EXPECT_NE(answer.report.find("of the PTX"), std::string::npos) << answer.report;
}

TEST(KernelLimit, Does_not_end_a_kernel_with_fewer_instructions) {
  EXPECT_EQ(wait_for(1, 100'000).code, CUDA_SUCCESS);
}

TEST(KernelLimit, Counts_the_instructions_of_all_warps) {
  // 6 warps of 5 instructions each
  EXPECT_EQ(wait_for(1, 30).code, CUDA_SUCCESS);
  EXPECT_EQ(wait_for(1, 10).code, CUDA_ERROR_LAUNCH_TIMEOUT);
}

}  // namespace
}  // namespace cushim::sim
