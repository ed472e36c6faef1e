// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA device runtime that the PTX of linked cubins gets.
#include "kernels/device_runtime.hpp"

#include "support/machine_fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::sim {
namespace {

// Each block stores 1 for itself, synchronizes with the grid, and adds the words of all blocks. Stores for
// each block the sum and the error of the synchronization.
const std::string kMeet = CUSHIM_PTX_HEADER R"(
.extern .func (.param .b64 result) cudaCGGetIntrinsicHandle (.param .b32 scope);
.extern .func (.param .b32 result) cudaCGSynchronize (.param .b64 handle, .param .b32 flags);
.visible .entry meet(.param .u64 words, .param .u64 sums) {
  .reg .u64 to, at, handle; .reg .u32 i, n, sum, word, error, t; .reg .pred more, not_first;
  ld.param.u64 to, [words];
  mov.u32 i, %ctaid.x; mov.u32 n, %nctaid.x;
  mad.wide.u32 at, i, 4, to;
  st.global.u32 [at], 1;
  {
    .param .b32 scope; .param .b64 result;
    st.param.b32 [scope], 1;
    call.uni (result), cudaCGGetIntrinsicHandle, (scope);
    ld.param.b64 handle, [result];
  }
  {
    .param .b64 group; .param .b32 flags; .param .b32 result;
    st.param.b64 [group], handle; st.param.b32 [flags], 0;
    call.uni (result), cudaCGSynchronize, (group, flags);
    ld.param.b32 error, [result];
  }
  mov.u32 sum, 0;
next:
  sub.u32 n, n, 1;
  mad.wide.u32 at, n, 4, to;
  ld.global.u32 word, [at];
  add.u32 sum, sum, word;
  setp.ne.u32 more, n, 0;
  @more bra next;
  mov.u32 t, %tid.x; setp.ne.u32 not_first, t, 0; @not_first ret;
  ld.param.u64 to, [sums];
  mad.wide.u32 at, i, 8, to;
  st.global.v2.u32 [at], {sum, error};
  ret;
}
)";

constexpr unsigned kBlocks = 6;

class DeviceRuntime : public ::testing::Test {
 protected:
  DeviceRuntime() {
    need(driver().cuModuleLoadData(&module, (kMeet + device_runtime_for(kMeet)).c_str()));
    need(driver().cuModuleGetFunction(&meet, module, "meet"));
    need(driver().cuMemsetD8(words, 0, 4096));
  }
  std::vector<std::uint32_t> results() const {
    need(driver().cuCtxSynchronize());
    std::vector<std::uint32_t> found(2 * kBlocks);
    need(driver().cuMemcpyDtoH(found.data(), sums, found.size() * sizeof found[0]));
    return found;
  }

  const Running on;
  CUmodule module = nullptr;
  CUfunction meet = nullptr;
  CUdeviceptr words = on.memory(), sums = on.memory();
  void *parameters[2] = {&words, &sums};
};

TEST_F(DeviceRuntime, Synchronizes_the_blocks_of_a_cooperative_launch) {
  need(driver().cuLaunchCooperativeKernel(meet, kBlocks, 1, 1, 64, 1, 1, 0, nullptr, parameters));
  for (unsigned i = 0; const std::uint32_t word : results()) EXPECT_EQ(word, i++ % 2 == 0 ? kBlocks : 0);
}

TEST_F(DeviceRuntime, Returns_an_error_in_other_launches) {
  need(driver().cuLaunchKernel(meet, kBlocks, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  const auto found = results();
  for (std::size_t i = 1; i < found.size(); i += 2) EXPECT_EQ(found[i], 1u);
}

TEST(DeviceRuntimeText, Has_the_functions_that_a_module_names) {
  EXPECT_EQ(device_runtime_for("cudaLaunchDevice"), "");
  EXPECT_EQ(device_runtime_for("cudaCGSynchronize").find("cudaCGGetIntrinsicHandle"), std::string::npos);
}

}  // namespace
}  // namespace cushim::sim
