// SPDX-License-Identifier: Apache-2.0
// Tests devices and contexts: the exact driver calls of each operation.
#include <gmock/gmock.h>

#include <cstring>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Device, Finding_one_is_one_call) {
  Recording recording;
  recording.on<Entry::cuDeviceGetCount_v2000>([](int *count) {
    *count = 2;
    return CUDA_SUCCESS;
  });
  init();
  EXPECT_EQ(Device::get(1).handle(), 1);
  Device::by_pci_bus_id("0000:3b:00.0");
  EXPECT_EQ(Device::all().size(), 2u);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuInit(0)", "cuDeviceGet(&, 1)", "cuDeviceGetByPCIBusId(&, \"0000:3b:00.0\")",
                          "cuDeviceGetCount(&)", "cuDeviceGet(&, 0)", "cuDeviceGet(&, 1)"));
}

TEST(Device, Every_question_is_one_call) {
  Recording recording;
  recording.on<Entry::cuDeviceGetName_v2000>([](char *name, int length, CUdevice) {
    std::strncpy(name, "Some GPU", static_cast<std::size_t>(length));
    return CUDA_SUCCESS;
  });
  recording.on<Entry::cuDeviceGetUuid_v11040>([](CUuuid *uuid, CUdevice) {
    for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(i + 0xf0);
    return CUDA_SUCCESS;
  });
  recording.on<Entry::cuDeviceGetPCIBusId_v4010>([](char *address, int length, CUdevice) {
    std::strncpy(address, "0000:3b:00.0", static_cast<std::size_t>(length));
    return CUDA_SUCCESS;
  });
  recording.on<Entry::cuDeviceTotalMem_v3020>([](std::size_t *bytes, CUdevice) {
    *bytes = std::size_t{140} << 30;
    return CUDA_SUCCESS;
  });
  recording.on<Entry::cuDeviceCanAccessPeer_v4000>([](int *can, CUdevice, CUdevice) {
    *can = 1;
    return CUDA_SUCCESS;
  });
  const Device device = device_3();
  EXPECT_EQ(device.name(), "Some GPU");
  EXPECT_EQ(device.uuid().text(), "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
  EXPECT_EQ(device.pci_bus_id(), "0000:3b:00.0");
  EXPECT_EQ(device.total_memory(), std::size_t{140} << 30);
  EXPECT_TRUE(device.can_access(Device::from_handle(4)));
  EXPECT_THAT(recording.calls(), ElementsAre("cuDeviceGetName(&, 256, 3)", "cuDeviceGetUuid_v2(&, 3)",
                                             "cuDeviceGetPCIBusId(&, 32, 3)", "cuDeviceTotalMem_v2(&, 3)",
                                             "cuDeviceCanAccessPeer(&, 3, 4)"));
}

TEST(Device, An_attribute_reads_as_its_own_type) {
  Recording recording;
  recording.on<Entry::cuDeviceGetAttribute_v2000>([](int *value, CUdevice_attribute which, CUdevice) {
    *value = which == CU_DEVICE_ATTRIBUTE_WARP_SIZE ? 32 : 1;
    return CUDA_SUCCESS;
  });
  const Device device = device_3();
  EXPECT_EQ(device.attribute(attribute::warp_size), 32);
  static_assert(std::is_same_v<decltype(device.attribute(attribute::ecc_enabled)), bool>);
  EXPECT_TRUE(device.attribute(attribute::ecc_enabled));
  static_assert(std::is_same_v<decltype(device.attribute(attribute::compute_mode)), CUcomputemode>);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuDeviceGetAttribute(&, 10, 3)", "cuDeviceGetAttribute(&, 32, 3)"));
}

TEST(Device, Attribute_numbers_are_those_of_the_headers) {
  EXPECT_EQ(attribute::max_threads_per_block.number, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(attribute::compute_capability_minor.number, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(attribute::can_flush_remote_writes.number, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES);
  EXPECT_EQ(attribute::can_use_64_bit_stream_mem_ops_v1.number, 93);
  EXPECT_EQ(attribute::memory_pools_supported.number, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
}

TEST(Device, Its_ordinal_takes_no_call) {
  Recording recording;
  EXPECT_EQ(device_3().ordinal(), 3);
  EXPECT_THAT(error_of([] { Device().ordinal(); }).what(), HasSubstr("an empty device"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Device, An_attribute_of_the_way_to_a_peer_reads_as_its_own_type) {
  Recording recording;
  recording.on<Entry::cuDeviceGetP2PAttribute_v8000>(
      [](int *value, CUdevice_P2PAttribute which, CUdevice, CUdevice) {
        *value = which == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 2 : 1;
        return CUDA_SUCCESS;
      });
  const Device peer = Device::from_handle(4);
  EXPECT_EQ(device_3().peer_attribute(peer_attribute::performance_rank, peer), 2);
  static_assert(std::is_same_v<decltype(peer.peer_attribute(peer_attribute::access_supported, peer)), bool>);
  EXPECT_TRUE(device_3().peer_attribute(peer_attribute::native_atomic_supported, peer));
  EXPECT_THAT(error_of([] { device_3().peer_attribute(peer_attribute::access_supported, Device()); }).what(),
              HasSubstr("an empty device"));
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuDeviceGetP2PAttribute(&, 1, 3, 4)", "cuDeviceGetP2PAttribute(&, 3, 3, 4)"));
  EXPECT_EQ(peer_attribute::cuda_array_access_supported.number,
            CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED);
}

TEST(Device, A_failure_names_the_device) {
  Recording recording;
  recording.fail(1, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_THAT(error_of([] { device_3().name(); }).what(), HasSubstr("device 3"));
  EXPECT_THAT(error_of([] { Device().name(); }).what(), HasSubstr("an empty device"));
  EXPECT_THAT(error_of([] { device_3().can_access(Device()); }).what(), HasSubstr("an empty device"));
  recording.fail(1, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_THAT(error_of([] { Device::get(9); }).what(), HasSubstr("ordinal 9"));
}

TEST(Context, Calls_that_need_a_current_context_push_and_pop_it) {
  Recording recording;
  const ContextRef context = context_c1();
  context.device();
  context.flags();
  context.limit(ContextLimit::malloc_heap_size);
  context.set_limit(ContextLimit::stack_size, 4096);
  context.cache_preference();
  context.set_cache_preference(CachePreference::l1);
  context.stream_priorities();
  context.memory();
  context.synchronize();
  const Calls calls = recording.calls();
  const Calls inner = {"cuCtxGetDevice(&)",
                       "cuCtxGetFlags(&)",
                       "cuCtxGetLimit(&, 2)",
                       "cuCtxSetLimit(0, 4096)",
                       "cuCtxGetCacheConfig(&)",
                       "cuCtxSetCacheConfig(2)",
                       "cuCtxGetStreamPriorityRange(&, &)",
                       "cuMemGetInfo_v2(&, &)",
                       "cuCtxSynchronize()"};
  Calls expected;
  for (const std::string &call : inner) {
    expected.push_back("cuCtxPushCurrent_v2(0xc1)");
    expected.push_back(call);
    expected.push_back("cuCtxPopCurrent_v2(&)");
  }
  EXPECT_EQ(calls, expected);
}

TEST(Context, Calls_that_need_no_current_context_are_one_driver_call) {
  Recording recording;
  const ContextRef context = context_c1();
  context.id();
  context.api_version();
  context.make_current();
  EXPECT_EQ(ContextRef::current().handle(), nullptr);
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxGetId(0xc1, &)", "cuCtxGetApiVersion(0xc1, &)",
                                             "cuCtxSetCurrent(0xc1)", "cuCtxGetCurrent(&)"));
}

TEST(Context, A_scope_pushes_and_pops_and_may_be_left_early) {
  Recording recording;
  { const ScopedContext scope(context_c1()); }
  {
    ScopedContext scope(context_c1());
    scope.leave();
  }
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuCtxPopCurrent_v2(&)",
                                             "cuCtxPushCurrent_v2(0xc1)", "cuCtxPopCurrent_v2(&)"));
}

TEST(Context, A_scope_can_restore_what_was_current) {
  Recording recording;
  {
    const RestoredContext restored;
    context_c1().make_current();
    EXPECT_EQ(restored.before().handle(), nullptr);
  }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuCtxGetCurrent(&)", "cuCtxSetCurrent(0xc1)", "cuCtxSetCurrent(null)"));
}

TEST(Context, A_primary_context_is_retained_for_its_scope) {
  Recording recording;
  {
    const PrimaryContext primary = PrimaryContext::retain(device_3());
    EXPECT_EQ(primary.handle(), kPrimary);
    EXPECT_EQ(primary.device(), device_3());
  }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuDevicePrimaryCtxRetain(&, 3)", "cuDevicePrimaryCtxRelease_v2(3)"));
}

TEST(Context, The_primary_contexts_state_flags_and_reset_are_one_call_each) {
  Recording recording;
  recording.on<Entry::cuDevicePrimaryCtxGetState_v7000>([](CUdevice, unsigned *flags, int *active) {
    *flags = CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST;
    *active = 1;
    return CUDA_SUCCESS;
  });
  PrimaryContext::set_flags(device_3(), ContextFlags::spin | ContextFlags::map_host);
  const PrimaryContext::State state = PrimaryContext::state(device_3());
  EXPECT_TRUE(state.is_active && has(state.flags, ContextFlags::spin) &&
              !has(state.flags, ContextFlags::yield));
  PrimaryContext::reset(device_3());
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuDevicePrimaryCtxSetFlags_v2(3, 9)", "cuDevicePrimaryCtxGetState(3, &, &)",
                          "cuDevicePrimaryCtxReset_v2(3)"));
}

TEST(Context, A_created_one_is_not_left_current) {
  Recording recording;
  { const Context context = Context::create(device_3(), ContextFlags::blocking_sync); }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuCtxCreate_v2(&, 4, 3)", "cuCtxPopCurrent_v2(&)", "cuCtxDestroy_v2(0x1000)"));
}

TEST(Context, One_may_be_created_and_left_current) {
  Recording recording;
  {
    const Context context = Context::create_and_push(device_3());
    EXPECT_EQ(ContextRef::current(), context);
    EXPECT_EQ(ContextRef::pop(), context);
  }
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxCreate_v2(&, 0, 3)", "cuCtxGetCurrent(&)",
                                             "cuCtxPopCurrent_v2(&)", "cuCtxDestroy_v2(0x1000)"));
}

TEST(Context, One_may_be_pushed_and_popped_by_hand) {
  Recording recording;
  context_c1().push();
  EXPECT_EQ(ContextRef::pop(), context_c1());
  EXPECT_EQ(error_of([] { ContextRef::pop(); }).result(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuCtxPopCurrent_v2(&)", "cuCtxPopCurrent_v2(&)"));
}

TEST(Context, Is_compared_with_the_primary_one_of_its_device_if_that_is_active) {
  Recording recording;
  int active = 0;
  recording.on<Entry::cuDevicePrimaryCtxGetState_v7000>([&](CUdevice, unsigned *flags, int *is_active) {
    *flags = 0;
    *is_active = active;
    return CUDA_SUCCESS;
  });
  EXPECT_FALSE(context_c1().is_primary());
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuCtxGetDevice(&)",
                                             "cuCtxPopCurrent_v2(&)", "cuDevicePrimaryCtxGetState(0, &, &)"));
  active = 1;
  EXPECT_FALSE(context_c1().is_primary());
  EXPECT_TRUE(ContextRef::from_handle(kPrimary).is_primary());
  EXPECT_THAT(recording.live(), IsEmpty());
  const PrimaryContext primary = PrimaryContext::retain(device_3());
  recording.calls();
  EXPECT_TRUE(primary.is_primary());
  EXPECT_FALSE(PrimaryContext().is_primary());
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Context, Adopted_is_destroyed_and_released_is_not) {
  Recording recording;
  Context context = Context::create(device_3());
  const CUcontext raw = context.release();
  EXPECT_TRUE(context.is_empty());
  recording.calls();
  Context owner = Context::adopt(raw);
  owner.close();
  owner.close();
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxDestroy_v2(0x1000)"));
}

TEST(Context, Peer_access_is_given_in_one_context_and_taken_back_there) {
  Recording recording;
  { const PeerAccess access(context_c1(), ContextRef::from_handle(context_handle(0xc2))); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuCtxEnablePeerAccess(0xc2, 0)",
                                             "cuCtxPopCurrent_v2(&)", "cuCtxPushCurrent_v2(0xc1)",
                                             "cuCtxDisablePeerAccess(0xc2)", "cuCtxPopCurrent_v2(&)"));
}

TEST(Context, Words_tell_no_context_from_an_empty_one) {
  Recording recording;
  EXPECT_EQ(to_text(context_c1()), "context 0xc1");
  EXPECT_EQ(to_text(ContextRef::from_handle(nullptr)), "no context");
  EXPECT_EQ(to_text(ContextRef()), "an empty context");
  EXPECT_THAT(error_of([] { ScopedContext scope{ContextRef()}; }).what(), HasSubstr("an empty context"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

}  // namespace
}  // namespace cushim::test
