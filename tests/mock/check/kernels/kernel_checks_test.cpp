// SPDX-License-Identifier: Apache-2.0
// The checks inside kernels on the simulated driver: each defect with its corrected twin. The rules of races
// and barriers are tested one by one in tests/mock/ptx/checks_test.cpp.
#include <gtest/gtest.h>
#include <cushim/check/checkers.hpp>
#include <cushim/check/kernel_checks.hpp>
#include <cushim/sim/kernel.hpp>

#include <string>
#include <vector>

#include "support/kernels.hpp"
#include "support/machine_fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::check {
namespace {

using sim::need;
using Names = std::vector<std::string>;

// Returns a kernel whose only instruction with access to global memory is in this line of kernels.cu. %d0:
// the address of the word at the index %r0.
std::string access_kernel(const std::string &name, const std::string &line, const std::string &instruction) {
  return ".visible .entry " + name + R"((.param .u64 p, .param .u32 index)
{
  .reg .u32 %r<4>;
  .reg .u64 %d<4>;
  ld.param.u64 %d0, [p];
  ld.param.u32 %r0, [index];
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  .loc 1 )" +
         line + " 3\n  " + instruction + ";\n  ret;\n}\n";
}

// read() and write() access the word at an index. race() writes the thread's index to the word of its block,
// or to that of its thread. meet() has a barrier, before which threads from `first` on exit.
const std::string kKernels = CUSHIM_PTX_HEADER "\n.file 1 \"kernels.cu\"\n" +
                             access_kernel("read", "7", "ld.global.u32 %r1, [%d0]") +
                             access_kernel("write", "12", "st.global.u32 [%d0], %r0") +
                             R"(.visible .entry race(.param .u64 p, .param .u32 by_thread)
{
  .reg .pred %p0;
  .reg .u32 %r<4>;
  .reg .u64 %d<4>;
  ld.param.u64 %d0, [p];
  ld.param.u32 %r0, [by_thread];
  setp.eq.u32 %p0, %r0, 0;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  selp.u32 %r2, %r2, %r1, %p0;
  mul.wide.u32 %d1, %r2, 4;
  add.u64 %d0, %d0, %d1;
  .loc 1 20 5
  st.global.u32 [%d0], %r1;
  ret;
}
.visible .entry meet(.param .u64 p, .param .u32 first)
{
  .reg .pred %p0;
  .reg .u32 %r<4>;
  ld.param.u32 %r0, [first];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p0, %r1, %r0;
  @%p0 ret;
  .loc 1 30 1
  bar.sync 0;
  ret;
}
)";

class ChecksInKernels : public ::testing::Test {
 protected:
  CUfunction function(const char *name) const { return test::kernel_of(module_, name); }
  // Returns the result of waiting for the kernel.
  CUresult launch(const char *name, CUdeviceptr p, unsigned number, unsigned threads = 1) const {
    void *parameters[] = {&p, &number};
    need(driver().cuLaunchKernel(function(name), 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr));
    return driver().cuCtxSynchronize();
  }
  static Names rules(const KernelChecks &checks) {
    Names names;
    for (const Finding &one : checks.findings()) names.push_back(one.checker + "/" + one.rule);
    return names;
  }
  static std::string text(const KernelChecks &checks) {
    std::string all;
    for (const Finding &one : checks.findings()) all += one.to_text();
    return all;
  }
  static bool has(const std::string &text, const std::string &part) { return text.find(part) != text.npos; }

  sim::Running running_;
  CUmodule module_ = test::loaded_module(kKernels);
};

const Names kNone;

TEST_F(ChecksInKernels, A_write_behind_an_allocation_names_kernel_thread_lines_and_allocation) {
  const KernelChecks checks(driver(), KernelCheck::memory);
  const CUdeviceptr memory = running_.memory(400);
  EXPECT_EQ(launch("write", memory, 100), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(rules(checks), Names{"memory/out-of-bounds"});
  const std::string found = text(checks);
  EXPECT_TRUE(has(found, "memory/out-of-bounds: kernel write: 4 bytes at 0x")) << found;
  EXPECT_TRUE(has(found, "nearest allocation: 400 bytes at 0x")) << found;
  EXPECT_TRUE(has(found, ", which ends 0 bytes before it")) << found;
  EXPECT_TRUE(
      has(found, "written by line 27 of the PTX (kernels.cu:12), thread (0, 0, 0) of block (0, 0, 0)"))
      << found;
  const Finding finding = checks.findings().front();
  EXPECT_EQ(finding.bytes, 4u);
  ASSERT_EQ(finding.calls.size(), 3u);
  EXPECT_EQ(finding.calls[1].role, "launched by");
  EXPECT_EQ(finding.calls[1].text, "cuLaunchKernel");
  EXPECT_FALSE(finding.calls[1].call_stack.frames().empty());
  EXPECT_EQ(finding.calls[2].role, "allocated by");
  EXPECT_EQ(finding.calls[2].text, "cuMemAlloc_v2");
  EXPECT_FALSE(finding.calls[2].call_stack.frames().empty());
}
TEST_F(ChecksInKernels, Memory_that_is_older_than_the_check_has_no_allocating_call) {
  const CUdeviceptr memory = running_.memory(400);
  const KernelChecks checks(driver(), KernelCheck::memory);
  EXPECT_EQ(launch("write", memory + (8 << 20), 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(rules(checks), Names{"memory/out-of-bounds"});
  EXPECT_TRUE(has(text(checks), "nearest allocation")) << text(checks);
  EXPECT_FALSE(has(text(checks), "allocated by")) << text(checks);
}
TEST_F(ChecksInKernels, A_write_at_the_end_of_an_allocation_is_not_reported) {
  const KernelChecks checks(driver(), KernelCheck::memory);
  EXPECT_EQ(launch("write", running_.memory(400), 99), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), kNone);
}

// The allocator of the real driver, and the simulated one without the check, put the second allocation behind
// the first one.
TEST_F(ChecksInKernels, A_write_into_the_next_allocation_is_reported) {
  const KernelChecks checks(driver(), KernelCheck::memory);
  const CUdeviceptr first = running_.memory(512), second = running_.memory(512);
  EXPECT_GT(second, first + 512);
  EXPECT_EQ(launch("write", first, 128), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(rules(checks), Names{"memory/out-of-bounds"});
}
TEST_F(ChecksInKernels, Without_the_check_allocations_are_where_they_always_are) {
  const CUdeviceptr first = running_.memory(512), second = running_.memory(512);
  EXPECT_EQ(second, first + 512);
  EXPECT_EQ(launch("write", first, 128), CUDA_SUCCESS);
}

TEST_F(ChecksInKernels, A_use_of_freed_memory_is_reported_also_after_another_allocation) {
  const KernelChecks checks(driver(), KernelCheck::memory);
  const CUdeviceptr freed = running_.memory(1024);
  need(driver().cuMemFree(freed));
  EXPECT_NE(running_.memory(1024), freed);
  EXPECT_EQ(launch("write", freed, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(rules(checks), Names{"memory/use-after-free"});
  EXPECT_TRUE(has(text(checks), "freed allocation: 1024 bytes at 0x")) << text(checks);
  EXPECT_TRUE(has(text(checks), "allocated by cuMemAlloc_v2")) << text(checks);
  EXPECT_TRUE(has(text(checks), "freed by cuMemFree_v2")) << text(checks);
}
TEST_F(ChecksInKernels, A_use_before_the_free_is_not_reported) {
  const KernelChecks checks(driver(), KernelCheck::memory);
  const CUdeviceptr memory = running_.memory(1024);
  EXPECT_EQ(launch("write", memory, 3), CUDA_SUCCESS);
  need(driver().cuMemFree(memory));
  EXPECT_EQ(rules(checks), kNone);
}

TEST_F(ChecksInKernels, All_of_a_devices_memory_can_be_allocated_many_times) {
  const KernelChecks checks(driver(), KernelCheck::memory);
  std::size_t free = 0, total = 0;
  need(driver().cuMemGetInfo(&free, &total));
  for (int i = 0; i < 8; ++i) need(driver().cuMemFree(running_.memory(free / 4 * 3)));
}

TEST_F(ChecksInKernels, A_read_of_memory_that_was_never_written_is_reported) {
  const KernelChecks checks(driver(), KernelCheck::init);
  EXPECT_EQ(launch("read", running_.memory(1 << 20), 70'000), CUDA_SUCCESS);
  ASSERT_EQ(rules(checks), Names{"init/uninitialized-read"});
  EXPECT_TRUE(has(text(checks), "(kernels.cu:7)")) << text(checks);
}
TEST_F(ChecksInKernels, Sets_copies_and_kernels_write_memory) {
  const KernelChecks checks(driver(), KernelCheck::init);
  const std::vector<unsigned> numbers(1024, 7);
  const CUdeviceptr set = running_.memory(), zero = running_.memory(), from_host = running_.memory(),
                    from_device = running_.memory(), by_kernel = running_.memory();
  need(driver().cuMemsetD32(set, 5, 1024));
  need(driver().cuMemsetD8(zero, 0, 4096));
  need(driver().cuMemcpyHtoD(from_host, numbers.data(), 4096));
  need(driver().cuMemcpyDtoD(from_device, set, 4096));
  need(launch("write", by_kernel, 1023));
  for (const CUdeviceptr memory : {set, zero, from_host, from_device, by_kernel})
    EXPECT_EQ(launch("read", memory, 1023), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), kNone) << text(checks);
}
TEST_F(ChecksInKernels, A_copy_that_is_too_short_leaves_memory_unwritten) {
  const KernelChecks checks(driver(), KernelCheck::init);
  const std::vector<unsigned> numbers(1024, 7);
  const CUdeviceptr memory = running_.memory();
  need(driver().cuMemcpyHtoD(memory, numbers.data(), 4092));
  EXPECT_EQ(launch("read", memory, 1022), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), kNone) << text(checks);
  EXPECT_EQ(launch("read", memory, 1023), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), Names{"init/uninitialized-read"});
}
TEST_F(ChecksInKernels, Memory_of_a_pool_is_unwritten_after_each_allocation) {
  const KernelChecks checks(driver(), KernelCheck::init);
  CUdeviceptr memory = 0;
  need(driver().cuMemAllocAsync(&memory, 4096, nullptr));
  need(driver().cuMemsetD8Async(memory, 1, 4096, nullptr));
  EXPECT_EQ(launch("read", memory, 5), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), kNone) << text(checks);
  need(driver().cuMemFreeAsync(memory, nullptr));
  need(driver().cuMemAllocAsync(&memory, 4096, nullptr));
  EXPECT_EQ(launch("read", memory, 5), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), Names{"init/uninitialized-read"});
}
TEST_F(ChecksInKernels, Memory_that_other_processes_may_write_counts_as_written) {
  const KernelChecks checks(driver(), KernelCheck::init);
  const CUdeviceptr memory = running_.memory();
  CUipcMemHandle handle;
  need(driver().cuIpcGetMemHandle(&handle, memory));
  EXPECT_EQ(launch("read", memory, 5), CUDA_SUCCESS);
  EXPECT_EQ(launch("read", running_.memory(), 5), CUDA_SUCCESS);  // in the same exported block
  EXPECT_EQ(rules(checks), kNone) << text(checks);
}
TEST_F(ChecksInKernels, Memory_that_is_older_than_the_check_counts_as_written) {
  const CUdeviceptr memory = running_.memory();
  const KernelChecks checks(driver(), KernelCheck::init);
  EXPECT_EQ(launch("read", memory, 5), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), kNone) << text(checks);
}

TEST_F(ChecksInKernels, Two_threads_that_write_a_word_are_reported_with_both_accesses) {
  const KernelChecks checks(driver(), KernelCheck::races);
  EXPECT_EQ(launch("race", running_.memory(), 0, 64), CUDA_SUCCESS);
  ASSERT_EQ(rules(checks), Names{"races/write-write"});
  const Finding finding = checks.findings().front();
  ASSERT_EQ(finding.calls.size(), 4u);
  EXPECT_EQ(finding.calls[0].text, "line 44 of the PTX (kernels.cu:20), thread (0, 0, 0) of block (0, 0, 0)");
  EXPECT_EQ(finding.calls[1].text, "line 44 of the PTX (kernels.cu:20), thread (1, 0, 0) of block (0, 0, 0)");
  EXPECT_EQ(finding.calls[2].role, "launched by");
  EXPECT_EQ(finding.calls[3].role, "allocated by");
  EXPECT_GT(finding.count, 1u);
  EXPECT_TRUE(has(finding.what, "nearest allocation: 4096 bytes")) << finding.what;
}
TEST_F(ChecksInKernels, Threads_that_write_words_of_their_own_are_not_reported) {
  const KernelChecks checks(driver(), KernelCheck::races);
  EXPECT_EQ(launch("race", running_.memory(), 1, 64), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), kNone) << text(checks);
}

TEST_F(ChecksInKernels, Threads_that_exit_before_a_barrier_are_reported) {
  const KernelChecks checks(driver(), KernelCheck::barriers);
  EXPECT_EQ(launch("meet", running_.memory(), 40, 64), CUDA_SUCCESS);
  ASSERT_EQ(rules(checks), Names{"barriers/exited-threads"});
  EXPECT_TRUE(has(text(checks), "(kernels.cu:30)")) << text(checks);
}
TEST_F(ChecksInKernels, A_barrier_that_all_threads_reach_is_not_reported) {
  const KernelChecks checks(driver(), KernelCheck::barriers);
  EXPECT_EQ(launch("meet", running_.memory(), 64, 64), CUDA_SUCCESS);
  EXPECT_EQ(rules(checks), kNone) << text(checks);
}

TEST_F(ChecksInKernels, Each_word_enables_its_check_and_several_checks_run_together) {
  Checkers checkers(driver(), "memory,races,init,barriers");
  need(launch("race", running_.memory(), 0, 64));
  need(launch("read", running_.memory(), 0));
  need(launch("meet", running_.memory(), 40, 64));
  EXPECT_EQ(launch("write", running_.memory(400), 100), CUDA_ERROR_ILLEGAL_ADDRESS);
  Names names;
  for (const Finding &one : checkers.finish()) names.push_back(one.checker + "/" + one.rule);
  EXPECT_EQ(names, (Names{"memory/out-of-bounds", "races/write-write", "init/uninitialized-read",
                          "barriers/exited-threads"}));
}

TEST_F(ChecksInKernels, A_registered_kernel_is_not_checked_and_a_line_reports_it) {
  running_.machine.kernel("race", [](const sim::Launch &, CUdeviceptr, unsigned) {});
  KernelChecks checks(driver(), KernelCheck::races);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(launch("race", running_.memory(), 0, 64), CUDA_SUCCESS);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "cushim[check]: --check races: kernel race is not checked, because no PTX is executed\n");
  EXPECT_TRUE(checks.finish().empty());
}

TEST_F(ChecksInKernels, Kernels_of_a_graph_are_checked_at_each_launch) {
  const KernelChecks checks(driver(), KernelCheck::races);
  const CUstream stream = running_.stream();
  CUdeviceptr p = running_.memory();
  unsigned number = 0;
  void *parameters[] = {&p, &number};
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  need(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  need(driver().cuLaunchKernel(function("race"), 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr));
  need(driver().cuStreamEndCapture(stream, &graph));
  need(driver().cuGraphInstantiateWithFlags(&executable, graph, 0));
  EXPECT_EQ(rules(checks), kNone);
  need(driver().cuGraphLaunch(executable, stream));
  need(driver().cuStreamSynchronize(stream));
  ASSERT_EQ(rules(checks), Names{"races/write-write"});
  const Finding finding = checks.findings().front();
  ASSERT_EQ(finding.calls.size(), 4u);
  EXPECT_EQ(finding.calls[2].text, "cuGraphLaunch");
}

}  // namespace
}  // namespace cushim::check
