// SPDX-License-Identifier: Apache-2.0
// Random calls about pools and virtual memory.
#pragma once

#include <unistd.h>

#include <vector>

#include "random_caller.hpp"
#include "support/structures.hpp"

namespace stress {

inline constexpr std::size_t kGranule = 2 << 20;  // of physical memory

// Unmaps and frees a reserved range of two granules. Another thread may map memory meanwhile.
inline CUresult free_range(CUdeviceptr range) {
  CUresult code = CUDA_ERROR_UNKNOWN;
  for (int i = 0; i < 10 && code != CUDA_SUCCESS; ++i) {
    driver().cuMemUnmap(range, kGranule);
    driver().cuMemUnmap(range + kGranule, kGranule);
    code = driver().cuMemAddressFree(range, 2 * kGranule);
  }
  return code;
}

class PoolCaller : protected RandomCaller {
 protected:
  using RandomCaller::RandomCaller;

  static constexpr std::size_t kSmall = 4096;  // bytes of an allocation

  CUstream stream() { return handle_of<CUstream>(world_.streams.any(random())); }
  CUmemoryPool pool() { return handle_of<CUmemoryPool>(world_.pools.any(random())); }

  // ---- Pools ----

  void make_pool() {
    const CUmemPoolProps properties = cushim::test::pool_of_device(static_cast<int>(random() % 2));
    CUmemoryPool made = nullptr;
    if (!check(d().cuMemPoolCreate(&made, &properties))) return;
    if (const auto replaced = world_.pools.put(random(), number_of(made)); replaced != 0)
      check(d().cuMemPoolDestroy(handle_of<CUmemoryPool>(replaced)));
  }
  void allocate_from_pool() {
    CUdeviceptr made = 0;
    if (!check(d().cuMemAllocFromPoolAsync(&made, kSmall, pool(), stream()))) return;
    graph_memory_.push_back(made);  // if the stream captures, a graph allocates it
    if (const auto replaced = world_.pool_memory.put(random(), made); replaced != 0) free(replaced);
  }
  void free_from_pool() {
    if (const auto taken = world_.pool_memory.take(random()); taken != 0) free(taken);
  }
  void free(CUdeviceptr address) {
    check(d().cuMemFreeAsync(address, stream()));
    check(d().cuMemFree(address));  // in a capture, the first call has only added a node
  }
  void trim_pool() { check(d().cuMemPoolTrimTo(pool(), 0)); }

  // ---- Virtual memory ----

  void reserve_range() {
    CUdeviceptr made = 0;
    if (!check(d().cuMemAddressReserve(&made, 2 * kGranule, 0, 0, 0))) return;
    if (const auto replaced = world_.ranges.put(random(), made); replaced != 0) check(free_range(replaced));
  }
  void make_physical() {
    CUmemAllocationProp properties = cushim::test::device_memory();
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle made = 0;
    if (check(d().cuMemCreate(&made, kGranule, &properties, 0))) keep_physical(made);
  }
  void keep_physical(CUmemGenericAllocationHandle made) {
    if (const auto replaced = world_.physical.put(random(), made); replaced != 0)
      check(d().cuMemRelease(replaced));
  }
  void export_and_import() {
    int descriptor = -1;
    const CUmemGenericAllocationHandle handle = world_.physical.any(random());
    if (!check(d().cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                0)))
      return;
    CUmemGenericAllocationHandle opened = 0;
    if (check(d().cuMemImportFromShareableHandle(&opened,
                                                 handle_of<void *>(static_cast<std::uint64_t>(descriptor)),
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)))
      keep_physical(opened);
    close(descriptor);
  }
  CUdeviceptr half_of_range() { return world_.ranges.any(random()) + random() % 2 * kGranule; }
  void map() {
    const CUdeviceptr at = half_of_range();
    if (!check(d().cuMemMap(at, kGranule, 0, world_.physical.any(random()), 0))) return;
    const CUmemAccessDesc access = cushim::test::full_access();
    check(d().cuMemSetAccess(at, kGranule, &access, 1));
  }
  void unmap() { check(d().cuMemUnmap(half_of_range(), kGranule)); }
  void retain_mapped() {
    CUmemGenericAllocationHandle handle = 0;
    if (check(d().cuMemRetainAllocationHandle(&handle, handle_of<void *>(half_of_range()))))
      keep_physical(handle);
  }
  void set_mapped() { check(d().cuMemsetD8Async(half_of_range(), 1, kSmall, stream())); }

  std::vector<CUdeviceptr> graph_memory_;  // that graphs may have allocated
};

}  // namespace stress
