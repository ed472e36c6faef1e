// SPDX-License-Identifier: Apache-2.0
// Memory pools that several processes share, their allocations, and pools of host and managed memory.
//
//   SharedMemoryFd descriptor = export_pool(pool);            // MemoryPoolOptions::handle_type
//   MemoryPool same = import_pool(descriptor);                // in the other process
//   const auto data = import_pointer<int>(same, exported, n); // of export_pointer(buffer)
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/physical_memory.hpp>

namespace cushim {
inline namespace v1 {

// Returns a file descriptor of a pool that was created with PoolHandleType::file_descriptor. Driver calls:
// cuMemPoolExportToShareableHandle.
inline SharedMemoryFd export_pool(const MemoryPoolRef &pool, Where where = Where::current()) {
  int descriptor = -1;
  detail::check(pool.driver().cuMemPoolExportToShareableHandle(&descriptor, pool.handle(),
                                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                "cuMemPoolExportToShareableHandle", where, pool);
  return SharedMemoryFd::adopt(descriptor);
}
// Opens a pool by a descriptor. No memory can be allocated from it. Driver calls:
// cuMemPoolImportFromShareableHandle; at the end cuMemPoolDestroy.
inline MemoryPool import_pool(const SharedMemoryFd &descriptor, Driver &driver = cushim::driver(),
                              Where where = Where::current()) {
  CUmemoryPool pool = nullptr;
  detail::check(driver.cuMemPoolImportFromShareableHandle(
                    &pool, reinterpret_cast<void *>(static_cast<std::intptr_t>(descriptor.get())),
                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                "cuMemPoolImportFromShareableHandle", where, detail::Through{&driver},
                detail::Argument{"descriptor", descriptor.get()});
  return MemoryPool::adopt(pool, driver);
}

// Returns data that identifies an allocation of a shared pool, to send to a process that has imported the
// pool. Driver calls: cuMemPoolExportPointer.
template <class T>
CUmemPoolPtrExportData export_pointer(DeviceSpan<T> memory, Driver &driver = cushim::driver(),
                                      Where where = Where::current()) {
  return detail::ask<CUmemPoolPtrExportData>(
      detail::Through{&driver}, "cuMemPoolExportPointer", where, [&](CUmemPoolPtrExportData *out) {
        return driver.cuMemPoolExportPointer(out, memory.data().address());
      });
}
// Maps an allocation of an imported pool. The driver does not tell its size, so the exporting process must
// send the number of elements too. Free it with cuMemFreeAsync before the exporting process does. Driver
// calls: cuMemPoolImportPointer.
template <class T>
DeviceSpan<T> import_pointer(const MemoryPoolRef &pool, const CUmemPoolPtrExportData &exported,
                             std::size_t count, Where where = Where::current()) {
  CUmemPoolPtrExportData copy = exported;  // the driver takes no const
  const auto address = detail::ask<CUdeviceptr>(pool, "cuMemPoolImportPointer", where, [&](CUdeviceptr *out) {
    return pool.driver().cuMemPoolImportPointer(out, pool.handle(), &copy);
  });
  return DeviceSpan<T>(DevicePtr<T>(address), count);
}

#if CUDA_VERSION >= 13000

// Return the default pool and the current pool of a device for memory of a type, such as managed memory. The
// default type is that of MemoryPoolRef::default_of(). Need CUDA 13.0. Driver calls: cuMemGetDefaultMemPool,
// cuMemGetMemPool.
inline MemoryPoolRef default_pool(Device device, CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  Where where = Where::current()) {
  CUmemLocation location = detail::location_of(device);
  const auto pool = detail::ask<CUmemoryPool>(
      device, "cuMemGetDefaultMemPool", where,
      [&](CUmemoryPool *out) { return device.driver().cuMemGetDefaultMemPool(out, &location, type); });
  return MemoryPoolRef::from_handle(pool, device.driver());
}
inline MemoryPoolRef current_pool(Device device, CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  Where where = Where::current()) {
  CUmemLocation location = detail::location_of(device);
  const auto pool = detail::ask<CUmemoryPool>(device, "cuMemGetMemPool", where, [&](CUmemoryPool *out) {
    return device.driver().cuMemGetMemPool(out, &location, type);
  });
  return MemoryPoolRef::from_handle(pool, device.driver());
}
// Sets the current pool of a device for memory of a type. Needs CUDA 13.0. Driver calls: cuMemSetMemPool.
inline void set_current_pool(Device device, CUmemAllocationType type, const MemoryPoolRef &pool,
                             Where where = Where::current()) {
  detail::require(pool, "cuMemSetMemPool", where);
  CUmemLocation location = detail::location_of(device);
  detail::check(device.driver().cuMemSetMemPool(&location, type, pool.handle()), "cuMemSetMemPool", where,
                device, pool);
}

#endif

}  // namespace v1
}  // namespace cushim
