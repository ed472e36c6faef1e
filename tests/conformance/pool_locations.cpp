// SPDX-License-Identifier: Apache-2.0
// Pools of host memory, of a NUMA node, and of managed memory; the pools of a location.
#include "pools.hpp"

namespace conformance {
namespace {

// ---- Default and current pools of locations ----

class PoolsOfLocations : public OnPools {
 public:
  CUmemLocation device = location_of(CU_MEM_LOCATION_TYPE_DEVICE), host = location_of(kLocationHost);
};

constexpr auto kDevice = CU_MEM_LOCATION_TYPE_DEVICE;
// A location and an allocation type, and the code of the calls for the default and the current pool.
struct Place {
  const char *name;
  int type, id;
  int code;
  int allocation = kPinned;
};
const Place places[] = {
    {"the_device_0", kDevice, 0, 0},
    {"the_device_99", kDevice, 99, 1},
    {"a_device_below_0", kDevice, -1, 1},
    {"the_location_type_0", 0, 0, 1},
    {"the_host", kLocationHost, 0, 0},
    {"the_host_with_an_id_of_99", kLocationHost, 99, 0},
    {"the_host_with_an_id_below_0", kLocationHost, -1, 0},
    {"the_numa_node_0", kLocationHostNuma, 0, 0},
    {"the_numa_node_999", kLocationHostNuma, 999, 1},
    {"a_numa_node_below_0", kLocationHostNuma, -1, 1},
    {"the_current_numa_node", kLocationHostNumaCurrent, 0, 801},
    {"the_location_type_5", 5, 0, 801},
    {"the_location_type_1000", 1000, 0, 801},
    {"managed_memory_of_the_device_0", kDevice, 0, 0, kManaged},
    {"managed_memory_of_the_device_99", kDevice, 99, 1, kManaged},
    {"managed_memory_of_no_location", 0, 0, 0, kManaged},
    {"managed_memory_of_no_location_with_an_id", 0, 5, 0, kManaged},
    {"managed_memory_of_the_host", kLocationHost, 0, 0, kManaged},
    {"managed_memory_of_the_numa_node_0", kLocationHostNuma, 0, 0, kManaged},
    {"managed_memory_of_the_numa_node_999", kLocationHostNuma, 999, 1, kManaged},
    {"managed_memory_of_the_current_numa_node", kLocationHostNumaCurrent, 0, 801, kManaged},
    {"the_allocation_type_0_of_the_device_0", kDevice, 0, 1, 0},
    {"the_allocation_type_0_of_the_host", kLocationHost, 0, 1, 0},
    {"the_allocation_type_3_of_the_device_0", kDevice, 0, 1, 3},
    {"the_allocation_type_3_of_the_device_99", kDevice, 99, 1, 3},
    {"the_allocation_type_1000_of_the_host", kLocationHost, 0, 1, 1000},
};
const bool asked = [] {
  for (const Place &place : places) {
    const auto type = static_cast<CUmemAllocationType>(place.allocation);
    const auto location_type = static_cast<CUmemLocationType>(place.type);
    ADD_TEST(PoolsOfLocations, std::string("Of_") + place.name + "_has_a_default", [=](PoolsOfLocations &) {
      auto location = location_of(location_type, place.id);
      CUmemoryPool found = nullptr;
      expect_answer(__FILE__, __LINE__, "cuMemGetDefaultMemPool(&found, &location, type)",
                    driver().cuMemGetDefaultMemPool(&found, &location, type),
                    static_cast<CUresult>(place.code));
      EXPECT_VALUE(found != nullptr, place.code == 0);
    });
    ADD_TEST(PoolsOfLocations, std::string("Of_") + place.name + "_is_current", [=](PoolsOfLocations &) {
      auto location = location_of(location_type, place.id);
      CUmemoryPool found = nullptr, usual = nullptr;
      expect_answer(__FILE__, __LINE__, "cuMemGetMemPool(&found, &location, type)",
                    driver().cuMemGetMemPool(&found, &location, type), static_cast<CUresult>(place.code));
      driver().cuMemGetDefaultMemPool(&usual, &location, type);
      EXPECT_VALUE(found == usual, true);
    });
  }
  return true;
}();
TEST_F(PoolsOfLocations, Of_a_device_is_the_default_pool_of_the_device) {
  CUmemoryPool found = nullptr;
  EXPECT_ANSWER(driver().cuMemGetDefaultMemPool(&found, &device, kPinned), CUDA_SUCCESS);
  EXPECT_VALUE(found == default_pool(), true);
}
TEST_F(PoolsOfLocations, Of_the_host_do_not_depend_on_the_id) {
  CUmemoryPool found = nullptr, other = nullptr;
  auto with_id = location_of(kLocationHost, 5);
  EXPECT_ANSWER(driver().cuMemGetDefaultMemPool(&found, &host, kPinned), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemGetDefaultMemPool(&other, &with_id, kPinned), CUDA_SUCCESS);
  EXPECT_VALUE(found == other, true);
  EXPECT_VALUE(found == default_pool(), false);
}
TEST_F(PoolsOfLocations, Of_the_host_and_of_a_numa_node_are_different) {
  CUmemoryPool found = nullptr, other = nullptr;
  auto node = location_of(kLocationHostNuma);
  EXPECT_ANSWER(driver().cuMemGetDefaultMemPool(&found, &host, kPinned), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemGetDefaultMemPool(&other, &node, kPinned), CUDA_SUCCESS);
  EXPECT_VALUE(found == other, false);
}
TEST_F(PoolsOfLocations, Of_managed_memory_are_others) {
  CUmemoryPool found = nullptr;
  EXPECT_ANSWER(driver().cuMemGetDefaultMemPool(&found, &device, kManaged), CUDA_SUCCESS);
  EXPECT_VALUE(found == default_pool(), false);
}
TEST_F(PoolsOfLocations, Of_the_host_is_not_destroyed) {
  CUmemoryPool found = nullptr;
  NEED(driver().cuMemGetDefaultMemPool(&found, &host, kPinned));
  EXPECT_ANSWER(driver().cuMemPoolDestroy(found), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PoolsOfLocations, Need_no_context) {
  CUmemoryPool found = nullptr;
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemGetDefaultMemPool(&found, &host, kPinned), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemGetMemPool(&found, &host, kPinned), CUDA_SUCCESS);
}
STATEMENT_THAT_MAY_CRASH(PoolsOfLocations, Need_a_place_for_the_default,
                         driver().cuMemGetDefaultMemPool(nullptr, &device, kPinned), CUDA_ERROR_INVALID_VALUE)
STATEMENT_THAT_MAY_CRASH(PoolsOfLocations, Need_a_location_for_the_default,
                         driver().cuMemGetDefaultMemPool(&pool_out, nullptr, kPinned),
                         CUDA_ERROR_INVALID_VALUE)
STATEMENT_THAT_MAY_CRASH(PoolsOfLocations, Need_a_place_for_the_current,
                         driver().cuMemGetMemPool(nullptr, &device, kPinned), CUDA_ERROR_INVALID_VALUE)
STATEMENT_THAT_MAY_CRASH(PoolsOfLocations, Need_a_location_for_the_current,
                         driver().cuMemGetMemPool(&pool_out, nullptr, kPinned), CUDA_ERROR_INVALID_VALUE)
STATEMENT_THAT_MAY_CRASH(PoolsOfLocations, Need_a_location_to_be_set,
                         driver().cuMemSetMemPool(nullptr, kPinned, pool()), CUDA_ERROR_INVALID_VALUE)
TEST_F(PoolsOfLocations, Null_is_not_set) {
  EXPECT_ANSWER(driver().cuMemSetMemPool(&device, kPinned, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PoolsOfLocations, Of_a_device_are_set) {
  const CUmemoryPool pool = this->pool();
  CUmemoryPool found = nullptr;
  EXPECT_ANSWER(driver().cuMemSetMemPool(&device, kPinned, pool), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetMemPool(&found, 0), CUDA_SUCCESS);
  EXPECT_VALUE(found == pool, true);
  EXPECT_ANSWER(driver().cuMemSetMemPool(&device, kPinned, default_pool()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemGetMemPool(&found, &device, kPinned), CUDA_SUCCESS);
  EXPECT_VALUE(found == default_pool(), true);
}
TEST_F(PoolsOfLocations, Of_the_host_are_set_until_they_are_destroyed) {
  const CUmemoryPool pool = own_pool(properties_of(kLocationHost));
  CUmemoryPool found = nullptr, usual = nullptr;
  NEED(driver().cuMemGetDefaultMemPool(&usual, &host, kPinned));
  EXPECT_ANSWER(driver().cuMemSetMemPool(&host, kPinned, pool), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemGetMemPool(&found, &host, kPinned), CUDA_SUCCESS);
  EXPECT_VALUE(found == pool, true);
  EXPECT_ANSWER(driver().cuMemPoolDestroy(pool), CUDA_SUCCESS);
  // Unlike the pool of a device, a destroyed pool of the host stays current.
  EXPECT_ANSWER(driver().cuMemGetMemPool(&found, &host, kPinned), CUDA_SUCCESS);
  EXPECT_VALUE(found == usual, false);
  NEED(driver().cuMemSetMemPool(&host, kPinned, usual));
}
STATEMENT(PoolsOfLocations, Of_a_device_are_not_set_for_the_host,
          driver().cuMemSetMemPool(&host, kPinned, pool()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PoolsOfLocations, Of_the_host_are_not_set_for_a_device,
          driver().cuMemSetMemPool(&device, kPinned, pool(properties_of(kLocationHost))),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PoolsOfLocations, Of_pinned_memory_are_not_set_for_managed_memory,
          driver().cuMemSetMemPool(&device, kManaged, pool()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PoolsOfLocations, Are_not_set_for_the_allocation_type_0,
          driver().cuMemSetMemPool(&device, static_cast<CUmemAllocationType>(0), pool()),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(PoolsOfLocations, Are_not_set_for_a_device_that_is_not_there) {
  auto location = location_of(CU_MEM_LOCATION_TYPE_DEVICE, 99);
  EXPECT_ANSWER(driver().cuMemSetMemPool(&location, kPinned, pool()), CUDA_ERROR_INVALID_VALUE);
}

// ---- Pools of host memory ----

class HostPools : public OnPools {
 public:
  CUmemLocation here = location_of(CU_MEM_LOCATION_TYPE_DEVICE), host = location_of(kLocationHost),
                node = location_of(kLocationHostNuma);
};

struct HostKind {
  const char *name;
  CUmemLocationType type;
};
const bool host_pools = [] {
  for (const HostKind &kind : {HostKind{"the_host", kLocationHost}, {"a_numa_node", kLocationHostNuma}}) {
    const auto properties = properties_of(kind.type);
    const std::string of = std::string("Of_") + kind.name;
    ADD_TEST(HostPools, of + "_give_memory_that_the_host_writes", [=](HostPools &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      const CUdeviceptr at = t.synchronized_from(t.pool(properties), 4096);
      auto *bytes = reinterpret_cast<unsigned char *>(at);
      bytes[4095] = 7;
      EXPECT_VALUE(static_cast<int>(bytes[4095]), 7);
      EXPECT_ANSWER(driver().cuMemFreeAsync(at, t.stream()), CUDA_SUCCESS);
    });
    ADD_TEST(HostPools, of + "_are_asked_for_access", [=](HostPools &t) {
      const CUmemoryPool pool = t.pool(properties);
      auto access = static_cast<CUmemAccess_flags>(2);
      EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool, &t.here), CUDA_SUCCESS);
      EXPECT_VALUE(static_cast<int>(access), 0);
      access = static_cast<CUmemAccess_flags>(2);
      EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool, &t.host), CUDA_SUCCESS);
      EXPECT_VALUE(static_cast<int>(access), 3);
      access = static_cast<CUmemAccess_flags>(2);
      EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool, &t.node), CUDA_SUCCESS);
      EXPECT_VALUE(static_cast<int>(access), 3);
    });
    ADD_TEST(HostPools, of + "_are_open_to_a_device", [=](HostPools &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      const CUmemoryPool pool = t.pool(properties);
      EXPECT_ANSWER(t.set_access(pool, t.here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
      EXPECT_VALUE(t.access(pool, t.here), 3);
      const CUdeviceptr at = t.synchronized_from(pool, 4096);
      EXPECT_ANSWER(driver().cuMemsetD8(at, 9, 4096), CUDA_SUCCESS);
      NEED(driver().cuCtxSynchronize());
      EXPECT_VALUE(static_cast<int>(reinterpret_cast<unsigned char *>(at)[4095]), 9);
      EXPECT_ANSWER(driver().cuMemFree(at), CUDA_SUCCESS);
      EXPECT_ANSWER(t.set_access(pool, t.here, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_SUCCESS);
      EXPECT_VALUE(t.access(pool, t.here), 0);
    });
    ADD_TEST(HostPools, of + "_are_set_open_to_locations", [=](HostPools &t) {
      const CUmemoryPool pool = t.pool(properties);
      EXPECT_ANSWER(t.set_access(pool, t.host, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
      EXPECT_ANSWER(t.set_access(pool, t.host, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_ERROR_NOT_SUPPORTED);
      EXPECT_ANSWER(t.set_access(pool, t.node, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
      EXPECT_ANSWER(t.set_access(pool, t.here, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_ERROR_NOT_SUPPORTED);
      EXPECT_ANSWER(t.set_access(pool, location_of(CU_MEM_LOCATION_TYPE_DEVICE, 99),
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
                    CUDA_ERROR_INVALID_DEVICE);
    });
    ADD_TEST(HostPools, of + "_give_host_memory", [=](HostPools &t) {
      const CUmemoryPool pool = t.pool(properties);
      const CUdeviceptr at = t.synchronized_from(pool, 100);
      EXPECT_VALUE(t.attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), 1u);
      EXPECT_VALUE(t.attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at), 0);
      EXPECT_VALUE(t.attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, at) != 0, false);
      EXPECT_VALUE(t.attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at) == pool, true);
      EXPECT_VALUE(t.attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at) == at, false);
      EXPECT_VALUE(t.attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at), std::size_t{100});
      void *host_pointer = nullptr;
      CUdeviceptr device_pointer = 0;
      CUcontext owner = nullptr;
      EXPECT_ANSWER(driver().cuPointerGetAttribute(&host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, at),
                    CUDA_SUCCESS);
      EXPECT_VALUE(address_of(host_pointer) == at, true);
      EXPECT_ANSWER(driver().cuPointerGetAttribute(&device_pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at),
                    CUDA_ERROR_INVALID_VALUE);
      EXPECT_VALUE(device_pointer == at, false);
      EXPECT_ANSWER(driver().cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, at), CUDA_SUCCESS);
      EXPECT_VALUE(owner == nullptr, true);
      EXPECT_ANSWER(driver().cuMemGetAddressRange(nullptr, &t.size, at), CUDA_ERROR_NOT_FOUND);
      EXPECT_ANSWER(driver().cuMemHostGetFlags(&t.flags, reinterpret_cast<void *>(at)),
                    CUDA_ERROR_INVALID_VALUE);
      EXPECT_ANSWER(driver().cuMemFreeHost(reinterpret_cast<void *>(at)), CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(HostPools, of + "_count_their_bytes", [=](HostPools &t) {
      const CUmemoryPool pool = t.pool(properties);
      const CUstream work = t.stream();
      const CUdeviceptr at = t.from(pool, 4096, work);
      EXPECT_VALUE(t.used(pool), 4096ull);
      EXPECT_VALUE(t.reserved(pool), 32 * kMiB);
      NEED(driver().cuMemFreeAsync(at, work));
      EXPECT_VALUE(t.used(pool), 0ull);
      NEED(driver().cuStreamSynchronize(work));
      EXPECT_VALUE(t.reserved(pool), 0ull);
      EXPECT_VALUE(t.reserved_high(pool), 32 * kMiB);
    });
    ADD_TEST(HostPools, of + "_have_a_largest_size", [=](HostPools &t) {
      auto limited = properties;
      set_member(limited, kOfMaxSize, 32 * kMiB);
      const CUmemoryPool pool = t.pool(limited);
      CUdeviceptr at = 0;
      EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 32 * kMiB, pool, t.stream()), CUDA_SUCCESS);
      EXPECT_ANSWER(driver().cuMemAllocFromPoolAsync(&at, 32 * kMiB, pool, t.stream()),
                    CUDA_ERROR_OUT_OF_MEMORY);
    });
    ADD_TEST(HostPools, of + "_copy_without_access_of_the_device", [=](HostPools &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      const CUmemoryPool pool = t.pool(properties);
      const CUdeviceptr from = t.synchronized_from(pool, 64), to = t.synchronized_from(pool, 64);
      std::memset(reinterpret_cast<void *>(from), 5, 64);
      EXPECT_ANSWER(driver().cuMemcpyAsync(to, from, 64, t.stream()), CUDA_SUCCESS);
      NEED(driver().cuCtxSynchronize());
      EXPECT_VALUE(static_cast<int>(reinterpret_cast<unsigned char *>(to)[63]), 5);
    });
    ADD_TEST(HostPools, of + "_copy_from_a_device", [=](HostPools &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      const CUmemoryPool pool = t.pool(properties);
      NEED(t.set_access(pool, t.here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
      const CUdeviceptr at = t.synchronized_from(pool, 4096), from = t.memory();
      NEED(driver().cuMemsetD8(from, 6, 4096));
      EXPECT_ANSWER(driver().cuMemcpyDtoH(reinterpret_cast<void *>(at), from, 4096), CUDA_SUCCESS);
      EXPECT_VALUE(static_cast<int>(reinterpret_cast<unsigned char *>(at)[4095]), 6);
    });
  }
  return true;
}();

// ---- Pools of managed memory ----

class ManagedPools : public OnPools {
 public:
  CUmemoryPool managed_pool() {
    auto properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE);
    properties.allocType = kManaged;
    return pool(properties);
  }
};

TEST_F(ManagedPools, Give_memory_that_host_and_device_write) {
  CUSHIM_NEEDS(concurrent_managed);
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const CUdeviceptr at = synchronized_from(managed_pool(), 4096);
  auto *bytes = reinterpret_cast<unsigned char *>(at);
  bytes[0] = 7;
  EXPECT_ANSWER(driver().cuMemsetD8(at + 1, 9, 4095), CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());
  EXPECT_VALUE(static_cast<int>(bytes[0]), 7);
  EXPECT_VALUE(static_cast<int>(bytes[4095]), 9);
  EXPECT_ANSWER(driver().cuMemFreeAsync(at, stream()), CUDA_SUCCESS);
}
TEST_F(ManagedPools, Give_managed_memory) {
  CUSHIM_NEEDS(concurrent_managed);
  const CUmemoryPool pool = managed_pool();
  const CUdeviceptr at = synchronized_from(pool, 100);
  int is_managed = 0;
  unsigned type = 0;
  CUmemoryPool of = nullptr;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<unsigned char>(is_managed) != 0, true);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), CUDA_SUCCESS);
  EXPECT_VALUE(type, 2u);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at), CUDA_SUCCESS);
  EXPECT_VALUE(of == pool, true);
  EXPECT_VALUE(used(pool), 100ull);
  EXPECT_ANSWER(driver().cuMemFree(at), CUDA_SUCCESS);
  EXPECT_VALUE(used(pool), 100ull);
}
TEST_F(ManagedPools, Are_asked_for_access) {
  CUSHIM_NEEDS(concurrent_managed);
  auto access = static_cast<CUmemAccess_flags>(2);
  auto here = location_of(CU_MEM_LOCATION_TYPE_DEVICE), host = location_of(kLocationHost);
  const CUmemoryPool pool = managed_pool();
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool, &here), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(access), 0);
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool, &host), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(access), 0);
  EXPECT_ANSWER(set_access(pool, here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool, &here), CUDA_SUCCESS);
  RECORD_VALUE(static_cast<int>(access));
}

}  // namespace
}  // namespace conformance
