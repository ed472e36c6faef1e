// SPDX-License-Identifier: Apache-2.0
// The functions of device code that the driver implements: malloc, free, assert.
#include <string>

#include "support/machine_fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::sim {
namespace {

// allocate: stores a new address in `to` for each thread; release: frees it; fails: a failed assertion of a
// thread.
const std::string kPtx = CUSHIM_PTX_HEADER R"(
.extern .func (.param .b64 address) malloc (.param .b64 size);
.extern .func free (.param .b64 address);
.extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 message[5] = {120, 32, 62, 32, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.visible .entry allocate(.param .u64 to, .param .u64 size) {
  .reg .u64 a, s; .reg .u32 t; .reg .pred is_null;
  .param .b64 in; .param .b64 out;
  ld.param.u64 a, [to]; ld.param.u64 s, [size];
  mov.u32 t, %tid.x; mad.wide.u32 a, t, 8, a;
  st.param.b64 [in], s;
  call.uni (out), malloc, (in);
  ld.param.b64 s, [out];
  st.global.u64 [a], s;
  setp.eq.u64 is_null, s, 0;
  @!is_null st.u32 [s], t;
  ret;
}
.visible .entry release(.param .u64 from) {
  .reg .u64 a; .reg .u32 t;
  .param .b64 in;
  ld.param.u64 a, [from];
  mov.u32 t, %tid.x; mad.wide.u32 a, t, 8, a;
  ld.global.u64 a, [a];
  st.param.b64 [in], a;
  call.uni free, (in);
  ret;
}
.visible .entry fails() {
  .reg .u32 t; .reg .u64 m, f; .reg .pred is_fifth;
  .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
  mov.u32 t, %tid.x; setp.ne.u32 is_fifth, t, 5; @is_fifth ret;
  mov.u64 m, message; cvta.global.u64 m, m; mov.u64 f, file; cvta.global.u64 f, f;
  st.param.b64 [p0], m; st.param.b64 [p1], f; st.param.b32 [p2], 12; st.param.b64 [p3], f; st.param.b64 [p4], 1;
  call.uni __assertfail, (p0, p1, p2, p3, p4);
  ret;
}
)";

class DeviceFunctions : public ::testing::Test {
 protected:
  DeviceFunctions() { need(driver().cuModuleLoadData(&module, kPtx.c_str())); }

  CUresult launch(const char *name, unsigned threads, std::vector<void *> parameters) const {
    CUfunction function = nullptr;
    need(driver().cuModuleGetFunction(&function, module, name));
    const CUresult code =
        driver().cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters.data(), nullptr);
    return code != CUDA_SUCCESS ? code : driver().cuCtxSynchronize();
  }
  std::vector<std::uint64_t> words(CUdeviceptr from, std::size_t count) const {
    std::vector<std::uint64_t> words(count);
    need(driver().cuMemcpyDtoH(words.data(), from, count * sizeof words[0]));
    return words;
  }

  std::string reports;
  Running running{{.report = [this](const std::string &text) { reports += text; }}};
  CUmodule module = nullptr;
};

TEST_F(DeviceFunctions, Malloc_gives_each_thread_memory_until_free) {
  CUdeviceptr addresses = running.memory();
  std::uint64_t size = 100;
  const std::size_t before = running.machine.usage().alive.size();
  ASSERT_EQ(launch("allocate", 3, {&addresses, &size}), CUDA_SUCCESS);
  const auto made = words(addresses, 3);
  for (const std::uint64_t address : made) EXPECT_EQ(address % 16, 0U);
  EXPECT_NE(made[0], made[1]);
  EXPECT_NE(made[1], made[2]);
  ASSERT_EQ(launch("release", 3, {&addresses}), CUDA_SUCCESS);
  EXPECT_EQ(running.machine.usage().alive.size(), before);
}

TEST_F(DeviceFunctions, Malloc_returns_null_when_the_heap_is_full) {
  CUdeviceptr addresses = running.memory();
  std::size_t heap = 0;
  need(driver().cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE));
  std::uint64_t size = heap / 2 + 1;
  ASSERT_EQ(launch("allocate", 2, {&addresses, &size}), CUDA_SUCCESS);
  auto made = words(addresses, 2);
  EXPECT_NE(made[0] != 0, made[1] != 0);
  ASSERT_EQ(launch("release", 2, {&addresses}), CUDA_SUCCESS);  // of null, too
  ASSERT_EQ(launch("allocate", 1, {&addresses, &size}), CUDA_SUCCESS);
  EXPECT_NE(words(addresses, 1)[0], 0U);
}

TEST_F(DeviceFunctions, A_failed_assertion_loses_the_context_and_names_file_and_line) {
  EXPECT_EQ(launch("fails", 5, {}), CUDA_SUCCESS);
  EXPECT_EQ(launch("fails", 6, {}), CUDA_ERROR_ASSERT);
  EXPECT_NE(reports.find("a.cu:12"), std::string::npos) << reports;
  EXPECT_NE(reports.find("thread (5, 0, 0)"), std::string::npos) << reports;
}

}  // namespace
}  // namespace cushim::sim
