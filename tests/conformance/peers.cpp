// SPDX-License-Identifier: Apache-2.0
// Access from one device to the memory of another.
#include "pools.hpp"
#include "two_devices.hpp"

namespace conformance {
namespace {

// ---- Peer attributes ----

class Peers : public OnTwoPeers {};

TEST_F(Peers, Can_reach_each_other) {
  int can = 77;
  EXPECT_ANSWER(driver().cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
  EXPECT_VALUE(can, 1);
  EXPECT_ANSWER(driver().cuDeviceCanAccessPeer(&can, 1, 0), CUDA_SUCCESS);
  EXPECT_VALUE(can, 1);
}
TEST_F(Peers, Do_not_reach_themselves) {
  int can = 77;
  EXPECT_ANSWER(driver().cuDeviceCanAccessPeer(&can, 1, 1), CUDA_SUCCESS);
  EXPECT_VALUE(can, 0);
}
TEST_F(Peers, Can_be_asked_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuDeviceCanAccessPeer(&number, 0, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetP2PAttribute(&number, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1),
                CUDA_SUCCESS);
}

struct Attribute {
  int number;
  const char *name;
  CUresult code;
};
const Attribute attributes[] = {
    {-1, "below_the_first_is_refused", CUDA_ERROR_INVALID_VALUE},
    {0, "zero_is_refused", CUDA_ERROR_INVALID_VALUE},
    {CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, "performance_rank_is_told", CUDA_SUCCESS},
    {CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, "access_is_told", CUDA_SUCCESS},
    {CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, "native_atomics_are_told", CUDA_SUCCESS},
    {CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, "access_to_arrays_is_told", CUDA_SUCCESS},
    {5, "partial_native_atomics_are_told", CUDA_SUCCESS},
    {6, "behind_the_last_is_refused", CUDA_ERROR_INVALID_VALUE},
    {1000, "far_behind_the_last_is_refused", CUDA_ERROR_INVALID_VALUE},
};
const bool asked = [] {
  for (const Attribute &attribute : attributes)
    for (const bool back : {false, true})
      ADD_TEST(Peers, std::string("The_attribute_") + attribute.name + (back ? "_back" : "_there"),
               [=](Peers &) {
                 int value = 77;
                 const auto which = static_cast<CUdevice_P2PAttribute>(attribute.number);
                 EXPECT_ANSWER(driver().cuDeviceGetP2PAttribute(&value, which, back ? 1 : 0, back ? 0 : 1),
                               attribute.code);
                 if (attribute.code == CUDA_SUCCESS) RECORD_VALUE(value);
               });
  return true;
}();
STATEMENT(Peers, An_attribute_needs_a_place,
          driver().cuDeviceGetP2PAttribute(nullptr, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Peers, An_attribute_needs_a_peer,
          driver().cuDeviceGetP2PAttribute(&number, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Peers, An_attribute_needs_a_device_before_a_good_attribute,
          driver().cuDeviceGetP2PAttribute(&number, static_cast<CUdevice_P2PAttribute>(1000), 0, 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Peers, An_attribute_is_not_told_of_a_device_and_itself,
          driver().cuDeviceGetP2PAttribute(&number, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
          CUDA_ERROR_INVALID_DEVICE)

// ---- Enabling and disabling ----

STATEMENT(Peers, Are_reached_over_to, driver().cuCtxEnablePeerAccess(there, 0), CUDA_SUCCESS)
TEST_F(Peers, Are_reached_over_to_once) {
  reach_over();
  EXPECT_ANSWER(driver().cuCtxEnablePeerAccess(there, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}
STATEMENT(Peers, Are_not_reached_with_the_flag_1, driver().cuCtxEnablePeerAccess(there, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Peers, Are_not_reached_with_all_flags, driver().cuCtxEnablePeerAccess(there, ~0u),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(Peers, Reached_already_the_flags_are_looked_at) {
  reach_over();
  EXPECT_ANSWER(driver().cuCtxEnablePeerAccess(there, 1), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Peers, Are_not_reached_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuCtxEnablePeerAccess(there, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuCtxDisablePeerAccess(there), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(Peers, Are_left_again) {
  reach_over();
  EXPECT_ANSWER(driver().cuCtxDisablePeerAccess(there), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxDisablePeerAccess(there), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}
STATEMENT(Peers, Not_reached_are_not_left, driver().cuCtxDisablePeerAccess(there),
          CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
TEST_F(Peers, Left_are_reached_again) {
  reach_over();
  NEED(driver().cuCtxDisablePeerAccess(there));
  EXPECT_ANSWER(driver().cuCtxEnablePeerAccess(there, 0), CUDA_SUCCESS);
}
TEST_F(Peers, Are_reached_in_one_direction) {
  reach_over();
  EXPECT_ANSWER(on_other([&] { return driver().cuCtxDisablePeerAccess(context); }),
                CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_ANSWER(on_other([&] { return driver().cuCtxEnablePeerAccess(context, 0); }), CUDA_SUCCESS);
}
STATEMENT(Peers, Do_not_reach_their_own_context,
          on_other([&] { return driver().cuCtxEnablePeerAccess(there, 0); }),
          CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
TEST_F(Peers, Are_reached_by_one_context_alone) {
  reach_over();
  EXPECT_ANSWER(in_other_context([&] { return driver().cuCtxDisablePeerAccess(there); }),
                CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_ANSWER(in_other_context([&] { return driver().cuCtxEnablePeerAccess(there, 0); }), CUDA_SUCCESS);
}
TEST_F(Peers, Are_reached_in_a_context_that_is_not_the_primary) {
  CUcontext made = nullptr, popped = nullptr;
  NEED(driver().cuCtxCreate_v2(&made, 0, other_device));
  NEED(driver().cuCtxPopCurrent(&popped));
  EXPECT_ANSWER(driver().cuCtxEnablePeerAccess(made, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxEnablePeerAccess(there, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxDisablePeerAccess(made), CUDA_SUCCESS);
  NEED(driver().cuCtxDestroy(made));
}
TEST_F(Peers, Are_reached_until_their_context_is_destroyed) {
  CUcontext made = nullptr, popped = nullptr;
  NEED(driver().cuCtxCreate_v2(&made, 0, other_device));
  NEED(driver().cuCtxPopCurrent(&popped));
  NEED(driver().cuCtxEnablePeerAccess(made, 0));
  EXPECT_ANSWER(driver().cuCtxDestroy(made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}

// ---- Effects of peer access ----

TEST_F(Peers, Say_that_memory_there_may_be_written_with_access_and_without) {
  const CUdeviceptr at = memory_there();
  unsigned access = 77;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at), CUDA_SUCCESS);
  EXPECT_VALUE(access, 3u);
  reach_over();
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at), CUDA_SUCCESS);
  EXPECT_VALUE(access, 3u);
}
TEST_F(Peers, Set_memory_there) {
  const CUdeviceptr at = memory_there();
  reach_over();
  unsigned char byte = 0;
  EXPECT_ANSWER(driver().cuMemsetD8(at, 9, 64), CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&byte, at + 63, 1), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(byte), 9);
}
TEST_F(Peers, Copy_there_and_back) {
  const auto bytes = pattern(4096);
  const CUdeviceptr from = memory(), between = memory_there(), to = memory();
  put(Kind::device, from, bytes);
  reach_over();
  EXPECT_ANSWER(driver().cuMemcpyDtoD(between, from, 4096), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemcpyDtoD(to, between, 4096), CUDA_SUCCESS);
  EXPECT_VALUE(take(Kind::device, to, 4096) == bytes, true);
}
TEST_F(Peers, Left_still_copy) {
  const auto bytes = pattern(4096);
  const CUdeviceptr from = memory(), between = memory_there(), to = memory();
  put(Kind::device, from, bytes);
  reach_over();
  NEED(driver().cuCtxDisablePeerAccess(there));
  EXPECT_ANSWER(driver().cuMemcpyPeer(between, there, from, context, 4096), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemcpyPeer(to, context, between, there, 4096), CUDA_SUCCESS);
  EXPECT_VALUE(take(Kind::device, to, 4096) == bytes, true);
}
TEST_F(Peers, Write_words_there) {
  CUSHIM_NEEDS(mem_ops);
  const CUdeviceptr at = memory_there();
  const CUstream work = stream();
  unsigned zero = 0;
  NEED(driver().cuMemcpyHtoD(at, &zero, sizeof zero));
  reach_over();
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(work, at, 5, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  unsigned word = 0;
  NEED(driver().cuMemcpyDtoH(&word, at, sizeof word));
  EXPECT_VALUE(word, 5u);
}
TEST_F(Peers, Wait_for_words_there) {
  CUSHIM_NEEDS(mem_ops);
  const CUdeviceptr at = memory_there();
  const CUstream waiting = stream(), writing = stream_there();
  unsigned zero = 0;
  NEED(driver().cuMemcpyHtoD(at, &zero, sizeof zero));
  reach_over();
  EXPECT_ANSWER(driver().cuStreamWaitValue32_v2(waiting, at, 5, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(writing, at, 5, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
}
TEST_F(Peers, Allocated_later_are_reached_too) {
  CUSHIM_NEEDS(mem_ops);
  reach_over();
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(stream(), memory_there(), 5, 0), CUDA_SUCCESS);
}
TEST_F(Peers, Left_no_words_are_written_there) {
  CUSHIM_NEEDS(mem_ops);
  reach_over();
  NEED(driver().cuCtxDisablePeerAccess(there));
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(stream(), memory_there(), 5, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Peers, Reached_back_no_words_are_written_there) {
  CUSHIM_NEEDS(mem_ops);
  on_other([&] { NEED(driver().cuCtxEnablePeerAccess(context, 0)); });
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(stream(), memory_there(), 5, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(stream_there(), memory(), 5, 0), CUDA_SUCCESS);
}
TEST_F(Peers, Open_no_pool) {
  CUSHIM_NEEDS(pools);
  CUmemoryPool pool = nullptr;
  NEED(driver().cuDeviceGetDefaultMemPool(&pool, 1));
  reach_over();
  CUmemLocation here = location_of(CU_MEM_LOCATION_TYPE_DEVICE, 0);
  CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_READ;
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool, &here), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(access), 0);
}

// ---- Peer access of pools ----

class PoolAccess : public OnTwoPeers {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(pools);
    OnTwoPeers::SetUp();
    if (there != nullptr) NEED(driver().cuDeviceGetDefaultMemPool(&pool, 1));
  }
  void TearDown() override {
    if (pool != nullptr) set(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OnTwoPeers::TearDown();
  }

 public:
  CUmemoryPool pool = nullptr;
  CUresult set(int for_device, CUmemAccess_flags flags_of_access) {
    CUmemAccessDesc wanted{};
    wanted.location = location_of(CU_MEM_LOCATION_TYPE_DEVICE, for_device);
    wanted.flags = flags_of_access;
    return driver().cuMemPoolSetAccess(pool, &wanted, 1);
  }
  int access(int for_device) {
    CUmemLocation location = location_of(CU_MEM_LOCATION_TYPE_DEVICE, for_device);
    CUmemAccess_flags found = CU_MEM_ACCESS_FLAGS_PROT_READ;
    NEED(driver().cuMemPoolGetAccess(&found, pool, &location));
    return static_cast<int>(found);
  }
};
TEST_F(PoolAccess, Is_given_and_taken_away) {
  EXPECT_ANSWER(set(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
  EXPECT_VALUE(access(0), 3);
  EXPECT_ANSWER(set(0, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_SUCCESS);
  EXPECT_VALUE(access(0), 0);
}
STATEMENT(PoolAccess, For_reading_alone_is_not_supported, set(0, CU_MEM_ACCESS_FLAGS_PROT_READ),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(PoolAccess, Is_not_taken_from_the_pools_own_device, set(1, CU_MEM_ACCESS_FLAGS_PROT_NONE),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PoolAccess, Is_given_to_the_pools_own_device_again, set(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
          CUDA_SUCCESS)
STATEMENT(PoolAccess, Is_not_given_to_a_device_that_is_not_there, set(99, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PoolAccess, Of_no_pool_is_not_given, driver().cuMemPoolSetAccess(nullptr, nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(PoolAccess, Lets_no_stream_of_the_other_write_words) {
  CUSHIM_NEEDS(mem_ops);
  const CUstream work = stream_there(), here = stream();
  CUdeviceptr at = 0;
  NEED(driver().cuMemAllocAsync(&at, 4096, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(here, at, 5, 0), CUDA_ERROR_INVALID_VALUE);
  NEED(set(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(here, at, 5, 0), CUDA_ERROR_INVALID_VALUE);
  NEED(driver().cuMemFreeAsync(at, work));
  NEED(driver().cuStreamSynchronize(work));
}
TEST_F(PoolAccess, Is_needed_by_copies_too) {
  const CUstream work = stream_there();
  const CUdeviceptr to = memory();
  CUdeviceptr at = 0;
  NEED(driver().cuMemAllocAsync(&at, 4096, work));
  NEED(driver().cuMemsetD8Async(at, 6, 4096, work));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_ANSWER(driver().cuMemcpyDtoD(to, at, 4096), CUDA_ERROR_INVALID_VALUE);
  NEED(set(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_ANSWER(driver().cuMemcpyDtoD(to, at, 4096), CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());
  EXPECT_VALUE(static_cast<int>(take(Kind::device, to, 1)[0]), 6);
  NEED(driver().cuMemFreeAsync(at, work));
  NEED(driver().cuStreamSynchronize(work));
}

}  // namespace
}  // namespace conformance
