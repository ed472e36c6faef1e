// SPDX-License-Identifier: Apache-2.0
// The other rules of the ordering checkers: for each a program that violates it and its corrected version, on
// any driver.
#include <cushim/check/checkers.hpp>
#include <cushim/check/deadlock.hpp>
#include <cushim/check/hazards.hpp>
#include <cushim/testing.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "set_kernel.hpp"
#include "support/kernels.hpp"

namespace hazards {
namespace {

using cushim::driver;
using cushim::check::Deadlock;
using cushim::check::Finding;
using cushim::check::Hazards;
using Rules = std::vector<std::string>;

enum class Version { broken, corrected };

#define NEED(call) ASSERT_EQ(driver().call, CUDA_SUCCESS)

class Rule : public ::testing::TestWithParam<Version> {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(pools);
    NEED(cuInit(0));
    CUcontext context = nullptr;
    NEED(cuDevicePrimaryCtxRetain(&context, 0));
    NEED(cuCtxSetCurrent(context));
    NEED(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    NEED(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    void *pages = nullptr;
    NEED(cuMemHostAlloc(&pages, 4096, 0));
    pinned = static_cast<std::uint32_t *>(pages);
    std::fill_n(pinned, 1024, 0U);
  }
  void TearDown() override {
    if (IsSkipped()) return;
    NEED(cuCtxSynchronize());
    NEED(cuMemFreeHost(pinned));
    NEED(cuEventDestroy(event));
    NEED(cuStreamDestroy(b));
    NEED(cuStreamDestroy(a));
    NEED(cuCtxSetCurrent(nullptr));
    NEED(cuDevicePrimaryCtxRelease(0));
  }
  static bool is_corrected() { return GetParam() == Version::corrected; }
  // In the corrected program, makes further work in `later` wait for the work in `earlier`.
  void order_if_corrected(CUstream earlier, CUstream later) const {
    if (!is_corrected()) return;
    NEED(cuEventRecord(event, earlier));
    NEED(cuStreamWaitEvent(later, event, 0));
  }
  static void expect_if_broken(const char *rule, const std::vector<Finding> &findings) {
    Rules found;
    for (const Finding &finding : findings) found.push_back(finding.rule);
    EXPECT_EQ(found, is_corrected() ? Rules{} : Rules{rule});
  }

  // Sets memory in the stream `user` after it was freed in the order of the stream `a`; the corrected program
  // frees it last.
  void expect_use_after_free(const char *words, CUstream user) const {
    cushim::check::Checkers checkers(driver(), words);
    CUdeviceptr memory = 0;
    NEED(cuMemAllocAsync(&memory, 256, a));
    if (user != a) {
      NEED(cuStreamSynchronize(a));
    }
    if (!is_corrected()) {
      NEED(cuMemFreeAsync(memory, a));
    }
    const CUresult answer = driver().cuMemsetD8Async(memory, 1, 256, user);
    EXPECT_EQ(answer, is_corrected() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (user != a) order_if_corrected(user, a);
    if (is_corrected()) {
      NEED(cuMemFreeAsync(memory, a));
    }
    NEED(cuCtxSynchronize());
    expect_if_broken("use-after-free", checkers.finish());
  }

  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  std::uint32_t *pinned = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Of, Rule, ::testing::Values(Version::broken, Version::corrected),
                         [](const auto &info) {
                           return info.param == Version::broken ? "broken" : "corrected";
                         });

TEST_P(Rule, Memory_is_used_after_its_allocation_in_stream_order) {
  Hazards checker(driver());
  CUdeviceptr memory = 0;
  NEED(cuMemAllocAsync(&memory, 256, a));
  order_if_corrected(a, b);
  NEED(cuMemsetD8Async(memory, 1, 256, b));
  NEED(cuStreamSynchronize(b));
  NEED(cuMemFreeAsync(memory, a));
  expect_if_broken("use-before-allocation", checker.finish());
}

TEST_P(Rule, Memory_is_freed_in_stream_order_after_its_last_use) {
  Hazards checker(driver());
  CUdeviceptr memory = 0;
  NEED(cuMemAllocAsync(&memory, 256, a));
  NEED(cuStreamSynchronize(a));
  NEED(cuMemsetD8Async(memory, 1, 256, b));
  order_if_corrected(b, a);
  NEED(cuMemFreeAsync(memory, a));
  expect_if_broken("free-while-used", checker.finish());
}

// There is one finding, whichever of the two checkers sees the call first.
TEST_P(Rule, Memory_freed_in_stream_order_is_not_used_by_another_stream) {
  for (const char *const words : {"hazards", "hazards,misuse", "misuse,hazards"})
    expect_use_after_free(words, b);
}

TEST_P(Rule, Memory_freed_in_stream_order_is_not_used_by_the_same_stream) {
  for (const char *const words : {"misuse", "hazards,misuse", "misuse,hazards"})
    expect_use_after_free(words, a);
}

// Writes without synchronization, in a program that is wrong because a driver may read concurrently. The
// thread sanitizer would report it as well.
__attribute__((no_sanitize("thread"))) void write_unordered(std::uint32_t *word, std::uint32_t value) {
  *word = value;
}

TEST_P(Rule, A_pinned_source_is_changed_after_its_copy) {
  CUdeviceptr memory = 0;
  NEED(cuMemAlloc(&memory, 256));
  {
    Hazards checker(driver());
    std::uint32_t *const source = pinned;
    NEED(cuMemFreeHost(source));
    void *pages = nullptr;
    NEED(cuMemHostAlloc(&pages, 4096, 0));  // the checker knows only memory whose allocation it has seen
    pinned = static_cast<std::uint32_t *>(pages);
    pinned[0] = 1;
    NEED(cuMemcpyHtoDAsync(memory, pinned, 256, a));
    if (is_corrected()) {
      NEED(cuStreamSynchronize(a));
    }
    write_unordered(pinned, 2);
    NEED(cuStreamSynchronize(a));
    expect_if_broken("pinned-source-changed", checker.finish());
  }
  NEED(cuMemFree(memory));
}

// Writes its parameter's memory.
TEST_P(Rule, A_copy_is_ordered_after_a_kernel) {
  Hazards checker(driver());
  const CUmodule module = cushim::test::loaded_module(kSetKernel);
  const CUfunction set = cushim::test::kernel_of(module, "set");
  CUdeviceptr memory = 0;
  NEED(cuMemAlloc(&memory, 512));
  void *parameters[] = {&memory};
  NEED(cuLaunchKernel(set, 1, 1, 1, 64, 1, 1, 0, a, parameters, nullptr));
  order_if_corrected(a, b);
  NEED(cuMemcpyDtoDAsync(memory + 256, memory, 256, b));
  NEED(cuCtxSynchronize());
  expect_if_broken("unordered", checker.finish());
  NEED(cuMemFree(memory));
  NEED(cuModuleUnload(module));
}

TEST_P(Rule, Nodes_of_a_captured_graph_have_a_path_of_edges) {
  Hazards checker(driver());
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUdeviceptr memory = 0;
  NEED(cuMemAlloc(&memory, 512));
  NEED(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  NEED(cuEventRecord(event, a));
  NEED(cuStreamWaitEvent(b, event, 0));
  NEED(cuMemsetD8Async(memory, 1, 256, a));
  order_if_corrected(a, b);
  NEED(cuMemcpyDtoDAsync(memory + 256, memory, 256, b));
  NEED(cuEventRecord(event, b));
  NEED(cuStreamWaitEvent(a, event, 0));
  NEED(cuStreamEndCapture(a, &graph));
  NEED(cuGraphInstantiateWithFlags(&executable, graph, 0));
  NEED(cuGraphLaunch(executable, a));
  NEED(cuStreamSynchronize(a));
  expect_if_broken("unordered", checker.finish());
  NEED(cuGraphExecDestroy(executable));
  NEED(cuGraphDestroy(graph));
  NEED(cuMemFree(memory));
}

// A call that returns an error at once; other calls would deadlock on the real driver.
TEST_P(Rule, A_host_function_does_not_call_the_driver) {
  const Deadlock checker(driver());
  const auto body = [](void *calls_it) {
    CUdeviceptr memory = 0;
    if (calls_it != nullptr) {
      EXPECT_EQ(driver().cuMemAlloc(&memory, 16), CUDA_ERROR_NOT_PERMITTED);
    }
  };
  NEED(cuLaunchHostFunc(a, body, is_corrected() ? nullptr : &a));
  NEED(cuStreamSynchronize(a));
  expect_if_broken("host-function", checker.findings());
}

TEST_P(Rule, A_call_does_not_wait_for_a_word_that_nobody_writes) {
  std::uint32_t *const word = pinned;
  std::atomic_ref(*word).store(is_corrected() ? 1 : 0);
  CUdeviceptr address = 0;
  NEED(cuMemHostGetDevicePointer(&address, word, 0));
  // The deadlock handler writes the word, which ends the wait.
  const auto patience = is_corrected() ? std::chrono::milliseconds(20'000) : std::chrono::milliseconds(2);
  const Deadlock checker(driver(), patience, [word](const Finding &) { std::atomic_ref(*word).store(1); });
  NEED(cuStreamWaitValue32(a, address, 1, CU_STREAM_WAIT_VALUE_GEQ));
  NEED(cuStreamSynchronize(a));
  expect_if_broken("still-waits", checker.findings());
}

}  // namespace
}  // namespace hazards
