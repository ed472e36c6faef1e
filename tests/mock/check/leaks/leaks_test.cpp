// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/hook.hpp>

#include <thread>

#include "leaked.hpp"

namespace cushim::check {
namespace {

// ---- Call stacks ----

[[gnu::noinline]] CUevent made_by_the_first() {
  CUevent event = nullptr;
  need(driver().cuEventCreate(&event, 0));
  return event;
}

TEST_F(Leaked, Objects_are_reported_with_functions_of_the_program_only) {
  const CUevent event = made_by_the_first();
  const std::string words = words_of(leaks_.finish());
  need(driver().cuEventDestroy(event));
  const std::size_t first = words.find("#0 "), line = words.find('\n', first);
  EXPECT_TRUE(has(words.substr(first, line - first), "cushim_checker_tests+0x")) << words;
  EXPECT_FALSE(has(words, "receive")) << words;
  EXPECT_FALSE(has(words, "ObjectRegistry")) << words;
}

TEST_F(Leaked, Objects_of_one_call_stack_are_one_finding_with_a_count) {
  std::vector<CUdeviceptr> made;
  for (int i = 0; i < 5; ++i) made.push_back(memory(1000));
  const std::vector<Finding> findings = leaks_.finish();
  for (const CUdeviceptr one : made) need(driver().cuMemFree(one));
  ASSERT_TRUE(is_only(findings, "never-freed"));
  EXPECT_EQ(findings[0].count, 5u);
  EXPECT_EQ(findings[0].bytes, 5000u);
}

TEST_F(Leaked, Objects_of_two_call_stacks_are_two_findings) {
  const CUevent a = event();
  const CUevent b = made_by_the_first();
  EXPECT_EQ(leaks_.finish().size(), 2u) << words_of(leaks_.findings());
  need(driver().cuEventDestroy(a));
  need(driver().cuEventDestroy(b));
}

TEST_F(Leaked, An_object_is_reported_once_after_several_calls_of_finish) {
  const CUevent kept = event();
  leaks_.finish();
  EXPECT_EQ(leaks_.finish().size(), 1u);
  need(driver().cuEventDestroy(kept));
}

// ---- Contexts ----

class InContext : public Leaked {
 protected:
  InContext() { need(driver().cuCtxCreate_v2(&mine_, 0, 0)); }
  void end_context() {
    need(driver().cuCtxDestroy(mine_));
    need(driver().cuCtxSetCurrent(context_));
  }
  CUcontext mine_ = nullptr;
};

TEST_F(InContext, An_object_destroyed_with_its_context_is_a_leak) {
  stream();
  end_context();
  const std::vector<Finding> findings = leaks_.finish();
  ASSERT_TRUE(is_only(findings, "gone-with-context"));
  EXPECT_EQ(findings[0].calls.size(), 2u);
  EXPECT_TRUE(has(findings[0].calls[1].text, "cuCtxDestroy_v2(ctx = context 0x")) << findings[0];
  EXPECT_TRUE(has(findings[0].what, "context 0x")) << findings[0];
}

TEST_F(InContext, No_object_is_a_leak_if_all_were_destroyed_before) {
  need(driver().cuStreamDestroy(stream()));
  end_context();
  EXPECT_TRUE(is_clean(leaks_.finish()));
}

TEST_F(InContext, Objects_of_another_context_stay) {
  need(driver().cuCtxSetCurrent(context_));
  const CUevent kept = event();
  need(driver().cuCtxSetCurrent(mine_));
  end_context();
  EXPECT_TRUE(is_clean(leaks_.findings()));
  EXPECT_TRUE(is_only(leaks_.finish(), "never-destroyed"));
  need(driver().cuEventDestroy(kept));
}

TEST_F(InContext, A_memory_pool_stays) {
  const CUmemoryPool kept = new_pool();
  end_context();
  EXPECT_TRUE(is_clean(leaks_.findings()));
  need(driver().cuMemPoolDestroy(kept));
  EXPECT_TRUE(is_clean(leaks_.finish()));
}

TEST_F(InContext, A_graph_stays) {
  CUgraph kept = nullptr;
  need(driver().cuGraphCreate(&kept, 0));
  end_context();
  EXPECT_TRUE(is_clean(leaks_.findings()));
  need(driver().cuGraphDestroy(kept));
  EXPECT_TRUE(is_clean(leaks_.finish()));
}

TEST_F(InContext, A_context_whose_destruction_fails_keeps_its_objects) {
  need(driver().cuCtxSetCurrent(context_));
  const CUevent kept = event();
  EXPECT_NE(driver().cuCtxDestroy(context_), CUDA_SUCCESS);  // it is a primary context
  EXPECT_TRUE(is_clean(leaks_.findings()));
  EXPECT_EQ(leaks_.finish().size(), 2u);  // includes the context of the fixture
  need(driver().cuEventDestroy(kept));
  end_context();
}

TEST_F(Leaked, Objects_destroyed_with_a_primary_context_are_leaks_unless_it_is_reset) {
  for (const bool is_reset : {true, false}) {
    SCOPED_TRACE(is_reset);
    need(driver().cuCtxSetCurrent(nullptr));
    need(driver().cuDevicePrimaryCtxRelease(0));
    CUcontext context = nullptr;
    {
      Leaks leaks(current_driver());
      need(driver().cuDevicePrimaryCtxRetain(&context, 0));
      need(driver().cuCtxSetCurrent(context));
      event();
      if (is_reset) need(driver().cuDevicePrimaryCtxReset(0));
      need(driver().cuDevicePrimaryCtxRelease(0));
      EXPECT_EQ(leaks.findings().size(), is_reset ? 0u : 1u) << words_of(leaks.findings());
    }
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    need(driver().cuCtxSetCurrent(context));
  }
}

TEST_F(Leaked, A_primary_context_that_was_reset_needs_no_release_until_it_is_retained_again) {
  Leaks leaks(current_driver());
  CUcontext context = nullptr;
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuDevicePrimaryCtxReset(0));
  EXPECT_TRUE(is_clean(leaks.finish()));
  need(driver().cuDevicePrimaryCtxRelease(0));
}

TEST_F(Leaked, A_reset_does_not_change_the_retain_count_of_a_primary_context) {
  CUcontext context = nullptr;
  Leaks leaks(current_driver());
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuDevicePrimaryCtxReset(0));
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuDevicePrimaryCtxRelease(0));
  const auto findings = leaks.finish();
  need(driver().cuDevicePrimaryCtxRelease(0));
  ASSERT_EQ(findings.size(), 1u) << words_of(findings);
  EXPECT_EQ(findings[0].rule, "never-released");
}

// ---- Calls that the checker must not disturb ----

TEST_F(Leaked, A_failed_call_creates_no_object) {
  CUdeviceptr none = 0;
  EXPECT_NE(driver().cuMemAlloc(&none, 0), CUDA_SUCCESS);
  void *empty = nullptr;
  driver().cuMemHostAlloc(&empty, 0, 0);
  EXPECT_TRUE(is_clean(leaks_.finish()));
}

TEST_F(Leaked, An_object_whose_destruction_fails_is_alive) {
  const CUdeviceptr kept = memory();
  EXPECT_NE(driver().cuMemFreeHost(reinterpret_cast<void *>(kept)), CUDA_SUCCESS);
  EXPECT_TRUE(is_only(leaks_.finish(), "never-freed"));
  need(driver().cuMemFree(kept));
}

TEST_F(Leaked, Threads_may_create_and_destroy_objects_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      need(driver().cuCtxSetCurrent(context_));
      for (int j = 0; j < 200; ++j) {
        const CUevent mine = event();
        const CUdeviceptr bytes = memory();
        need(driver().cuEventDestroy(mine));
        need(driver().cuMemFree(bytes));
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_TRUE(is_clean(leaks_.finish()));
}

// ---- Objects of another process ----

CUSHIM_CHILD(exporter) {
  CUcontext context = nullptr;
  need(driver().cuInit(0));
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuCtxSetCurrent(context));
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  need(driver().cuMemAlloc(&memory, 4096));
  need(driver().cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CUipcMemHandle memory_handle;
  CUipcEventHandle event_handle;
  need(driver().cuIpcGetMemHandle(&memory_handle, memory));
  need(driver().cuIpcGetEventHandle(&event_handle, event));
  parent.send(memory_handle);
  parent.send(event_handle);
  parent.receive<int>();
}

TEST_F(Leaked, Objects_of_another_process_are_closed_as_often_as_they_were_opened) {
  CUSHIM_NEEDS(ipc);
  testing::Child exporter("exporter");
  const auto memory_handle = exporter.receive<CUipcMemHandle>();
  const auto event_handle = exporter.receive<CUipcEventHandle>();
  CUdeviceptr once = 0, twice = 0;
  CUevent opened = nullptr;
  need(driver().cuIpcOpenMemHandle(&once, memory_handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  need(driver().cuIpcOpenMemHandle(&twice, memory_handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  need(driver().cuIpcOpenEventHandle(&opened, event_handle));
  {
    Leaks all(current_driver());  // sees the objects that another checker has recorded
    const std::string words = words_of(all.finish());
    EXPECT_TRUE(has(words, "memory of another process 0x")) << words;
    EXPECT_TRUE(has(words, "cuIpcOpenEventHandle")) << words;
  }
  need(driver().cuEventDestroy(opened));
  need(driver().cuIpcCloseMemHandle(once));
  EXPECT_EQ(once, twice);
  need(driver().cuIpcCloseMemHandle(twice));
  const std::vector<Finding> findings = leaks_.finish();
  EXPECT_TRUE(is_clean(findings));
  exporter.send(0);
  EXPECT_EQ(exporter.wait(), 0);
}

// ---- Physical memory ----

TEST_F(Leaked, Physical_memory_is_released_as_often_as_its_handle_was_returned) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle memory = 0, again = 0;
  CUdeviceptr range = 0;
  constexpr std::size_t kBytes = 2 << 20;
  need(driver().cuMemCreate(&memory, kBytes, &properties, 0));
  need(driver().cuMemAddressReserve(&range, kBytes, 0, 0, 0));
  need(driver().cuMemMap(range, kBytes, 0, memory, 0));
  need(driver().cuMemRetainAllocationHandle(&again, reinterpret_cast<void *>(range)));
  need(driver().cuMemUnmap(range, kBytes));
  need(driver().cuMemAddressFree(range, kBytes));
  need(driver().cuMemRelease(memory));
  const std::vector<Finding> findings = leaks_.finish();
  ASSERT_TRUE(is_only(findings, "never-freed"));
  EXPECT_TRUE(has(findings[0].what, "of 2097152 bytes was not freed")) << findings[0];
  EXPECT_TRUE(has(findings[0].advice, "call cuMemRelease once for each call")) << findings[0];
  need(driver().cuMemRelease(again));
}
TEST_F(InContext, Physical_memory_and_address_ranges_stay) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr range = 0;
  need(driver().cuMemCreate(&memory, 2 << 20, &properties, 0));
  need(driver().cuMemAddressReserve(&range, 2 << 20, 0, 0, 0));
  end_context();
  EXPECT_TRUE(is_clean(leaks_.findings()));
  need(driver().cuMemAddressFree(range, 2 << 20));
  need(driver().cuMemRelease(memory));
}

// ---- Mapped memory ----

// A driver on which mapping and unmapping always succeed: the test is about the checker's records.
class Mapped : public OnDevice {
 protected:
  static constexpr CUdeviceptr kAddress = 0x7000'0000'0000;
  static constexpr std::size_t kBytes = 1 << 21;

  static void map(std::size_t number) {
    need(driver().cuMemMap(kAddress + number * kBytes, kBytes, 0, 1, 0));
  }

  CUresult answer_ = CUDA_SUCCESS;
  hook::Hook map_ = hook::replace<Entry::cuMemMap_v10020>(current_driver(),
                                                          [](const auto &, auto...) { return CUDA_SUCCESS; });
  hook::Hook unmap_ = hook::replace<Entry::cuMemUnmap_v10020>(
      current_driver(), [this](const auto &, auto...) { return answer_; });
  Leaks leaks_{current_driver()};
};

TEST_F(Mapped, Memory_that_stays_mapped_is_a_leak) {
  map(0);
  const std::vector<Finding> findings = leaks_.finish();
  ASSERT_TRUE(is_only(findings, "never-freed"));
  EXPECT_TRUE(has(findings[0].what, "mapped memory 0x700000000000 of 2097152 bytes")) << findings[0];
  EXPECT_TRUE(has(findings[0].advice, "unmap it with cuMemUnmap")) << findings[0];
}

TEST_F(Mapped, One_call_unmaps_all_mappings_of_a_range) {
  for (std::size_t i = 0; i < 3; ++i) map(i);
  need(driver().cuMemUnmap(kAddress, 2 * kBytes));
  const std::vector<Finding> findings = leaks_.finish();
  ASSERT_TRUE(is_only(findings, "never-freed"));
  EXPECT_TRUE(has(findings[0].what, "mapped memory 0x700000400000")) << findings[0];
}

TEST_F(Mapped, Memory_stays_mapped_if_unmapping_fails) {
  map(0);
  map(1);
  answer_ = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(driver().cuMemUnmap(kAddress, 2 * kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(leaks_.finish().size(), 2u);
}

TEST_F(Mapped, Memory_does_not_end_with_the_context_in_which_it_was_mapped) {
  CUcontext context = nullptr;
  need(driver().cuCtxCreate_v2(&context, 0, 0));
  map(0);
  need(driver().cuCtxDestroy(context));
  EXPECT_TRUE(is_clean(leaks_.findings()));
  need(driver().cuMemUnmap(kAddress, kBytes));
  EXPECT_TRUE(is_clean(leaks_.finish()));
}

}  // namespace
}  // namespace cushim::check
