// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <cushim/check/leaks.hpp>
#include <cushim/check/misuse.hpp>

#include <thread>
#include <vector>

#include "../fixture.hpp"
#include "support/structures.hpp"

namespace cushim::check {
namespace {

class Misused : public OnDevice {
 protected:
  Misuse misuse_{current_driver()};
};

// ---- Use after destroy ----

TEST_F(Misused, A_destroyed_event_is_found_with_its_call_stacks) {
  const CUevent used = event();
  need(driver().cuEventDestroy(used));
  EXPECT_EQ(driver().cuEventQuery(used), CUDA_ERROR_INVALID_HANDLE);
  const std::vector<Finding> findings = misuse_.finish();
  ASSERT_TRUE(is_only(findings, "use-after-destroy"));
  ASSERT_EQ(findings[0].calls.size(), 3u);
  EXPECT_TRUE(has(findings[0].calls[0].text, "cuEventQuery(hEvent = event 0x")) << findings[0];
  EXPECT_EQ(findings[0].calls[1].text, "cuEventDestroy_v2");
  EXPECT_EQ(findings[0].calls[2].text, "cuEventCreate");
  for (const Finding::Call &call : findings[0].calls)
    EXPECT_FALSE(call.call_stack.frames().empty()) << call.role;
  EXPECT_NE(findings[0].calls[0].call_stack, findings[0].calls[1].call_stack);
}

TEST_F(Misused, An_event_destroyed_after_its_last_use_is_not_reported) {
  const CUevent used = event();
  need(driver().cuEventRecord(used, nullptr));
  need(driver().cuEventSynchronize(used));
  need(driver().cuEventDestroy(used));
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

TEST_F(Misused, A_destroyed_stream_is_found_in_all_calls_that_take_one) {
  const CUstream used = stream();
  const CUdeviceptr bytes = memory();
  const CUevent recorded = event();
  need(driver().cuStreamDestroy(used));
  EXPECT_EQ(driver().cuStreamQuery(used), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuMemsetD8Async(bytes, 0, 16, used), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventRecord(recorded, used), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuStreamWaitEvent(used, recorded, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(misuse_.finish().size(), 4u) << words_of(misuse_.findings());
  for (const Finding &finding : misuse_.findings()) EXPECT_EQ(finding.rule, "use-after-destroy");
  need(driver().cuEventDestroy(recorded));
  need(driver().cuMemFree(bytes));
}

TEST_F(Misused, Per_thread_variants_are_checked_too) {
  const CUstream used = stream();
  need(driver().cuStreamDestroy(used));
  EXPECT_EQ(driver()->cuStreamQuery_ptsz(used), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(is_only(misuse_.finish(), "use-after-destroy"));
}

TEST_F(Misused, A_misuse_that_is_repeated_by_one_call_is_one_finding) {
  const CUevent used = event();
  need(driver().cuEventDestroy(used));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(driver().cuEventQuery(used), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_TRUE(is_only(misuse_.finish(), "use-after-destroy"));
  EXPECT_EQ(misuse_.findings()[0].count, 3u);
}

TEST_F(Misused, A_destroyed_context_is_found) {
  CUcontext mine = nullptr;
  need(driver().cuCtxCreate_v2(&mine, 0, 0));
  need(driver().cuCtxDestroy(mine));
  EXPECT_EQ(driver().cuCtxSetCurrent(mine), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_TRUE(is_only(misuse_.finish(), "use-after-destroy"));
}

TEST_F(Misused, A_stream_destroyed_with_its_context_is_found) {
  CUcontext mine = nullptr;
  need(driver().cuCtxCreate_v2(&mine, 0, 0));
  const CUstream used = stream();
  need(driver().cuCtxDestroy(mine));
  EXPECT_EQ(driver().cuStreamSynchronize(used), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const std::vector<Finding> findings = misuse_.finish();
  ASSERT_TRUE(is_only(findings, "use-after-destroy"));
  EXPECT_TRUE(has(findings[0].what, "destroyed with its context")) << findings[0];
}

TEST_F(Misused, A_stream_that_is_destroyed_before_its_context_is_not_reported) {
  CUcontext mine = nullptr;
  need(driver().cuCtxCreate_v2(&mine, 0, 0));
  need(driver().cuStreamDestroy(stream()));
  need(driver().cuCtxDestroy(mine));
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

TEST_F(Misused, A_destroyed_array_is_found) {
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR shape{16, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  need(driver().cuArrayCreate(&array, &shape));
  need(driver().cuArrayDestroy(array));
  EXPECT_EQ(driver().cuArrayGetDescriptor(&shape, array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(is_only(misuse_.finish(), "use-after-destroy"));
}

// Copies rows of 16 bytes from memory to an array.
CUresult copy_to(CUarray array, CUdeviceptr from) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcPitch = 16;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 16;
  copy.Height = 16;
  return driver().cuMemcpy2D(&copy);
}

TEST_F(Misused, Addresses_in_the_description_of_a_2D_copy_are_checked_too) {
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{16, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  need(driver().cuArrayCreate(&array, &shape));
  const CUdeviceptr from = memory();
  need(copy_to(array, from));
  EXPECT_TRUE(is_clean(misuse_.findings()));
  need(driver().cuMemFree(from));
  EXPECT_EQ(copy_to(array, from), CUDA_ERROR_INVALID_VALUE);
  ASSERT_TRUE(is_only(misuse_.findings(), "use-after-free"));
  const CUdeviceptr next = memory();
  need(driver().cuArrayDestroy(array));
  EXPECT_EQ(copy_to(array, next), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(misuse_.finish().size(), 2u) << words_of(misuse_.findings());
  EXPECT_EQ(misuse_.findings()[1].rule, "use-after-destroy");
  need(driver().cuMemFree(next));
}

// ---- Double destroy ----

TEST_F(Misused, A_second_destruction_is_found) {
  const CUevent twice = event();
  const CUstream stream_twice = stream();
  need(driver().cuEventDestroy(twice));
  need(driver().cuStreamDestroy(stream_twice));
  EXPECT_EQ(driver().cuEventDestroy(twice), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_TRUE(is_only(misuse_.findings(), "double-destroy"));
  EXPECT_EQ(driver().cuStreamDestroy(stream_twice), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(misuse_.finish().size(), 2u);
  EXPECT_TRUE(has(misuse_.findings()[1].what, "is destroyed a second time")) << misuse_.findings()[1];
}

TEST_F(Misused, An_object_whose_destruction_failed_may_be_destroyed_again) {
  EXPECT_NE(driver().cuCtxDestroy(context_), CUDA_SUCCESS);
  EXPECT_NE(driver().cuCtxDestroy(context_), CUDA_SUCCESS);
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

// ---- Wrong kind ----

TEST_F(Misused, A_stream_passed_as_an_event_is_found) {
  const CUstream mine = stream();
  EXPECT_EQ(driver().cuEventQuery(reinterpret_cast<CUevent>(mine)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventDestroy(reinterpret_cast<CUevent>(mine)), CUDA_ERROR_INVALID_HANDLE);
  const std::vector<Finding> findings = misuse_.finish();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].rule, "wrong-kind");
  EXPECT_TRUE(has(findings[0].what, "is passed as a handle of type event")) << findings[0];
  need(driver().cuStreamDestroy(mine));  // the stream still exists
}

TEST_F(Misused, A_context_passed_as_a_stream_is_found) {
  CUcontext mine = nullptr;
  need(driver().cuCtxCreate_v2(&mine, 0, 0));
  EXPECT_EQ(driver().cuStreamQuery(reinterpret_cast<CUstream>(mine)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(is_only(misuse_.finish(), "wrong-kind"));
  need(driver().cuCtxDestroy(mine));
}

// ---- Wrong context ----

TEST_F(Misused, An_event_recorded_on_a_stream_of_another_context_is_found) {
  const CUevent mine = event();
  CUcontext other = nullptr;
  need(driver().cuCtxCreate_v2(&other, 0, 0));
  const CUstream its = stream();
  EXPECT_EQ(driver().cuEventRecord(mine, its), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuEventRecord(mine, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(misuse_.finish().size(), 2u) << words_of(misuse_.findings());
  for (const Finding &finding : misuse_.findings()) EXPECT_EQ(finding.rule, "wrong-context");
  need(driver().cuStreamDestroy(its));
  need(driver().cuCtxDestroy(other));
  need(driver().cuEventDestroy(mine));
}

TEST_F(Misused, A_stream_that_waits_for_an_event_of_another_context_is_not_reported) {
  const CUevent mine = event();
  need(driver().cuEventRecord(mine, nullptr));
  CUcontext other = nullptr;
  need(driver().cuCtxCreate_v2(&other, 0, 0));
  const CUstream its = stream();
  need(driver().cuStreamWaitEvent(its, mine, 0));
  need(driver().cuStreamSynchronize(its));
  need(driver().cuStreamDestroy(its));
  need(driver().cuCtxDestroy(other));
  need(driver().cuEventDestroy(mine));
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

// ---- Memory ----

TEST_F(Misused, Memory_that_is_used_after_it_was_freed_is_found_also_in_its_middle) {
  const CUdeviceptr freed = memory(4096);
  int word = 0;
  need(driver().cuMemFree(freed));
  EXPECT_EQ(driver().cuMemcpyHtoD(freed + 100, &word, sizeof word), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemsetD8(freed, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(misuse_.finish().size(), 2u) << words_of(misuse_.findings());
  for (const Finding &finding : misuse_.findings()) EXPECT_EQ(finding.rule, "use-after-free");
}

TEST_F(Misused, Memory_that_is_used_before_it_is_freed_is_not_reported) {
  const CUdeviceptr used = memory(4096);
  int word = 0;
  need(driver().cuMemcpyHtoD(used + 100, &word, sizeof word));
  need(driver().cuMemFree(used));
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

TEST_F(Misused, Memory_at_an_address_that_was_freed_is_alive) {
  for (int i = 0; i < 100; ++i) {
    const CUdeviceptr used = memory(1 << 20);
    need(driver().cuMemsetD8(used, 0, 1 << 20));
    need(driver().cuMemFree(used));
  }
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

TEST_F(Misused, Memory_of_a_graph_at_an_address_that_was_freed_is_alive) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  need(driver().cuGraphCreate(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = test::allocation_node(4096);
  std::vector<CUdeviceptr> freed;
  for (int i = 0; i < 4; ++i) freed.push_back(memory(32 << 20));
  for (const CUdeviceptr address : freed) need(driver().cuMemFree(address));
  need(driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters));
  ASSERT_THAT(freed, ::testing::Contains(parameters.dptr));
  CUgraphExec executable = nullptr;
  need(driver().cuGraphInstantiate(&executable, graph, 0));
  need(driver().cuGraphLaunch(executable, nullptr));
  need(driver().cuMemsetD8(parameters.dptr, 1, 4096));
  need(driver().cuMemFree(parameters.dptr));
  need(driver().cuGraphExecDestroy(executable));
  need(driver().cuGraphDestroy(graph));
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

TEST_F(Misused, Memory_that_is_freed_twice_is_found) {
  const CUdeviceptr twice = memory();
  void *pinned = nullptr;
  need(driver().cuMemAllocHost(&pinned, 4096));
  need(driver().cuMemFree(twice));
  need(driver().cuMemFreeHost(pinned));
  EXPECT_EQ(driver().cuMemFree(twice), CUDA_ERROR_INVALID_VALUE);
  ASSERT_TRUE(is_only(misuse_.findings(), "double-free"));
  EXPECT_EQ(driver().cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(misuse_.finish().size(), 2u) << words_of(misuse_.findings());
}

TEST_F(Misused, Memory_that_is_unregistered_twice_is_found_and_is_an_error_of_the_driver) {
  alignas(4096) static char memory[4096];
  need(driver().cuMemHostRegister(memory, sizeof memory, 0));
  need(driver().cuMemHostUnregister(memory));
  EXPECT_EQ(driver().cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_TRUE(is_only(misuse_.finish(), "double-free"));
}

TEST_F(Misused, Memory_that_is_registered_again_is_not_reported) {
  alignas(4096) static char memory[4096];
  for (int i = 0; i < 2; ++i) {
    need(driver().cuMemHostRegister(memory, sizeof memory, 0));
    need(driver().cuMemHostUnregister(memory));
  }
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

TEST_F(Misused, Host_memory_at_the_address_of_freed_pinned_memory_is_not_reported) {
  CUdeviceptr to = memory();
  void *pinned = nullptr;
  need(driver().cuMemAllocHost(&pinned, 4096));
  need(driver().cuMemFreeHost(pinned));
  std::vector<char> mine(4096);
  need(driver().cuMemcpyHtoD(to, mine.data(), mine.size()));
  need(driver().cuMemFree(to));
  need(driver().cuMemFree(0));
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

// ---- Memory freed in stream order ----

CUdeviceptr memory_of(CUstream stream) {
  CUdeviceptr made = 0;
  need(driver().cuMemAllocAsync(&made, 4096, stream));
  return made;
}

TEST_F(Misused, Memory_freed_in_stream_order_is_found_in_the_same_stream) {
  const CUstream used = stream();
  const CUdeviceptr freed = memory_of(used), other = memory();
  need(driver().cuMemFreeAsync(freed, used));
  EXPECT_EQ(driver().cuMemcpyDtoDAsync(other, freed + 8, 8, used), CUDA_ERROR_INVALID_VALUE);
  const std::vector<Finding> findings = misuse_.finish();
  ASSERT_TRUE(is_only(findings, "use-after-free"));
  EXPECT_EQ(findings[0].calls[1].text, "cuMemFreeAsync") << findings[0];
  need(driver().cuMemFree(other));
  need(driver().cuStreamDestroy(used));
}

TEST_F(Misused, Memory_freed_in_the_order_of_the_null_stream_is_found_by_its_other_names) {
  const CUdeviceptr legacy = memory_of(nullptr), per_thread = memory_of(CU_STREAM_PER_THREAD);
  need(driver().cuMemFreeAsync(legacy, nullptr));
  EXPECT_EQ(driver().cuMemsetD8Async(legacy, 1, 8, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(misuse_.findings().size(), 1u) << words_of(misuse_.findings());
  need(driver().cuMemFreeAsync(per_thread, CU_STREAM_PER_THREAD));
  EXPECT_EQ(driver()->cuMemsetD8Async_ptsz(per_thread, 1, 8, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(misuse_.finish().size(), 2u) << words_of(misuse_.findings());
}

TEST_F(Misused, Memory_freed_in_stream_order_is_found_when_the_host_uses_it) {
  const CUstream used = stream();
  const CUdeviceptr freed = memory_of(used);
  std::uint64_t word = 0;
  need(driver().cuMemFreeAsync(freed, used));
  EXPECT_EQ(driver().cuMemcpyDtoH(&word, freed, sizeof word), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(is_only(misuse_.finish(), "use-after-free"));
  need(driver().cuStreamDestroy(used));
}

TEST_F(Misused, Memory_freed_in_stream_order_after_its_last_use_is_not_reported) {
  const CUstream used = stream();
  std::uint64_t word = 0;
  for (int i = 0; i < 100; ++i) {
    const CUdeviceptr made = memory_of(used);
    need(driver().cuMemsetD8Async(made, 1, 8, used));
    need(driver().cuMemcpyDtoH(&word, made, sizeof word));
    need(driver().cuMemFreeAsync(made, used));
  }
  need(driver().cuStreamDestroy(used));
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

// ---- Combinations ----

TEST_F(Misused, Objects_older_than_the_checker_are_not_checked) {
  const CUevent before = event();
  {
    Misuse late(current_driver());
    need(driver().cuEventQuery(before));
    need(driver().cuEventDestroy(before));
    EXPECT_TRUE(is_clean(late.finish()));
  }
}

TEST_F(Misused, Threads_that_create_and_destroy_are_not_reported) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      need(driver().cuCtxSetCurrent(context_));
      const CUstream mine = stream();
      for (int j = 0; j < 200; ++j) {
        const CUevent recorded = event();
        need(driver().cuEventRecord(recorded, mine));
        need(driver().cuEventSynchronize(recorded));
        need(driver().cuEventDestroy(recorded));
      }
      need(driver().cuStreamDestroy(mine));
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_TRUE(is_clean(misuse_.finish()));
}

TEST_F(Misused, An_event_that_is_destroyed_twice_is_not_a_leak) {
  Leaks leaks(current_driver());
  const CUevent twice = event();
  need(driver().cuEventDestroy(twice));
  EXPECT_EQ(driver().cuEventDestroy(twice), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(is_clean(leaks.finish()));
}

}  // namespace
}  // namespace cushim::check
