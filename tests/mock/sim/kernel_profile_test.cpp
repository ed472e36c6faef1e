// SPDX-License-Identifier: Apache-2.0
// Profiles of kernels: counts of all launches, and their texts.
#include <cushim/sim/kernel_profile.hpp>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/machine_fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::sim {
namespace {

// gather: each thread loads 4 bytes at stride * tid; nothing: returns.
const std::string kPtx = CUSHIM_PTX_HEADER R"(
.file 1 "gather.cu"
.visible .entry gather(.param .u64 from, .param .u32 stride) {
  .reg .u64 a; .reg .u32 t, s; .reg .pred p;
  .loc 1 7 3
  ld.param.u64 a, [from]; ld.param.u32 s, [stride];
  mov.u32 t, %tid.x;
  mul.lo.u32 s, s, t;
  mad.wide.u32 a, s, 4, a;
  .loc 1 8 3
  ld.global.u32 t, [a];
  setp.lt.u32 p, t, 1;
  @p bra end;
  trap;
end:
  ret;
}
.visible .entry nothing() { ret; }
)";

struct Profiled : Running {
  explicit Profiled(const Options &options = {.profiles_kernels = true}) : Running(options) {
    need(driver().cuModuleLoadData(&module, kPtx.c_str()));
    from = memory(1 << 20);
    need(driver().cuMemsetD8(from, 0, 1 << 20));
  }
  void gather(unsigned stride, unsigned blocks = 1) {
    void *parameters[] = {&from, &stride};
    launch("gather", blocks, parameters);
  }
  void launch(const char *name, unsigned blocks, void **parameters) const {
    CUfunction function = nullptr;
    need(driver().cuModuleGetFunction(&function, module, name));
    need(driver().cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
    need(driver().cuCtxSynchronize());
  }

  CUmodule module = nullptr;
  CUdeviceptr from = 0;
};

const ptx::AccessCounts &global(const KernelTotals &sums) {
  return sums.spaces[static_cast<std::size_t>(ptx::CountedSpace::global)];
}

TEST(KernelProfile, Has_the_sums_of_all_launches_of_a_kernel) {
  Profiled profiled;
  profiled.gather(1);
  profiled.gather(8, 3);
  profiled.launch("nothing", 2, nullptr);
  const std::vector<KernelProfile> profiles = profiled.machine.kernel_profiles();
  ASSERT_EQ(profiles.size(), 2u);
  const KernelProfile &gather = profiles[0];  // executed more instructions
  EXPECT_EQ(gather.kernel, "gather");
  EXPECT_EQ(gather.launches, 2u);
  EXPECT_EQ(gather.blocks, 4u);
  EXPECT_EQ(gather.threads, 256u);
  const KernelTotals sums = totals(gather);
  EXPECT_EQ(sums.warp_instructions, 8u * 9);
  EXPECT_EQ(sums.thread_instructions, 256u * 9);
  EXPECT_EQ(sums.branches, 8u);
  EXPECT_EQ(sums.divergent_branches, 0u);
  EXPECT_EQ(global(sums).requests, 8u);
  EXPECT_EQ(global(sums).read_bytes, 1024u);
  EXPECT_EQ(global(sums).transactions, 2u * 4 + 6 * 32);
  EXPECT_EQ(global(sums).ideal, 8u * 4);
  EXPECT_EQ(profiles[1].kernel, "nothing");
  EXPECT_EQ(totals(profiles[1]).warp_instructions, 4u);
}

TEST(KernelProfile, Adds_the_launches_of_modules_with_the_same_text) {
  Profiled profiled;
  profiled.gather(1);
  need(driver().cuModuleUnload(profiled.module));
  need(driver().cuModuleLoadData(&profiled.module, kPtx.c_str()));
  profiled.gather(1);
  const std::vector<KernelProfile> profiles = profiled.machine.kernel_profiles();
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_EQ(profiles[0].launches, 2u);
}

TEST(KernelProfile, Is_empty_without_the_option) {
  Profiled profiled{Options{}};
  profiled.gather(1);
  EXPECT_TRUE(profiled.machine.kernel_profiles().empty());
}

TEST(KernelProfile, Names_the_lines_of_the_source_with_avoidable_sectors) {
  Profiled profiled;
  profiled.gather(8);
  std::ostringstream summary;
  write_summary(profiled.machine.kernel_profiles(), summary, "> ");
  EXPECT_NE(summary.str().find("> kernel gather: 1 launch, 1 blocks, 64 threads\n"), std::string::npos)
      << summary.str();
  EXPECT_NE(summary.str().find("global: 2 requests, 256 bytes read, 0 written; 32.00 sectors per request, "
                               "ideal 4.00\n"),
            std::string::npos)
      << summary.str();
  EXPECT_NE(summary.str().find("(gather.cu:8): global:"), std::string::npos) << summary.str();
}

TEST(KernelProfile, Says_that_a_registered_function_is_not_counted) {
  Profiled profiled;
  profiled.machine.kernel("nothing", [](const Launch &) {});
  profiled.launch("nothing", 3, nullptr);
  const std::vector<KernelProfile> profiles = profiled.machine.kernel_profiles();
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_EQ(profiles[0].blocks, 3u);
  EXPECT_EQ(profiles[0].text, nullptr);
  std::ostringstream summary;
  write_summary(profiles, summary);
  EXPECT_NE(summary.str().find("is not counted"), std::string::npos);
}

TEST(KernelProfile, Is_written_as_JSON) {
  Profiled profiled;
  profiled.gather(2);
  std::ostringstream text;
  write_json(profiled.machine.kernel_profiles(), "a \"program\"", text);
  const auto json = nlohmann::json::parse(text.str());
  EXPECT_EQ(json["program"], "a \"program\"");
  const auto &kernel = json["kernels"].at(0);
  EXPECT_EQ(kernel["totals"]["spaces"]["global"]["transactions"], 16);
  EXPECT_EQ(kernel["instructions"].size(), 10u);
  EXPECT_EQ(kernel["instructions"][5]["class"], "load");
  EXPECT_EQ(kernel["instructions"][5]["source"], "gather.cu:8");
}

TEST(KernelProfile, Is_a_page_that_the_text_of_a_program_does_not_end) {
  Profiled profiled;
  profiled.gather(1);
  std::ostringstream text;
  write_html(profiled.machine.kernel_profiles(), "</script><b>", text);
  const std::string page = text.str();
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("ld.global.u32 t, [a];"), std::string::npos);
  EXPECT_EQ(page.find(".entry nothing"), std::string::npos);  // it was not launched
  EXPECT_EQ(page.find("http"), std::string::npos);
}

}  // namespace
}  // namespace cushim::sim
