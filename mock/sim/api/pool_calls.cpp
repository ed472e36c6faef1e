// SPDX-License-Identifier: Apache-2.0
// Default memory pools of devices and stream-ordered allocation. Other pools are not implemented.
#include <cstring>
#include <span>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

CUmemoryPool handle_of(const Pool &pool) { return reinterpret_cast<CUmemoryPool>(pool.handle); }

Pool &default_pool(Call &call, Device &device) {
  if (device.default_pool == nullptr) {
    device.default_pool = &call.system.handles.add(std::make_unique<Pool>());
    device.default_pool->device = &device;
    device.default_pool->is_default = true;
  }
  return *device.default_pool;
}

Pool &current_pool(Call &call, Device &device) {
  if (device.pool == nullptr) device.pool = &default_pool(call, device);
  return *device.pool;
}

// Returns the device with this ordinal; else INVALID_VALUE, as the pool calls do.
Device &pool_device(Call &call, CUdevice number) {
  require(number >= 0 && number < static_cast<int>(call.system.visible.size()));
  return call.device(number);
}

CUresult get_default(Call &call, CUmemoryPool *out, CUdevice number) {
  require(out != nullptr);
  *out = handle_of(default_pool(call, call.device(number)));
  return CUDA_SUCCESS;
}

CUresult get_current(Call &call, CUmemoryPool *out, CUdevice number) {
  require(out != nullptr);
  *out = handle_of(current_pool(call, pool_device(call, number)));
  return CUDA_SUCCESS;
}

CUresult set_current(Call &call, CUdevice number, CUmemoryPool handle) {
  Device &device = pool_device(call, number);
  Pool &pool = call.pool(handle);
  require(pool.device == &device);
  device.pool = &pool;
  return CUDA_SUCCESS;
}

CUresult allocate_from(Call &call, Stream &stream, Pool &pool, CUdeviceptr *out, std::size_t size) {
  Allocation *const made = call.allocate(*pool.device, size);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = stream.context;
  made->pool = &pool;
  pool.take(size);
  *out = made->base;
  call.enqueue(stream, {.cost = call.costs(*stream.context).memory_operation});
  return CUDA_SUCCESS;
}

CUresult allocate(Call &call, CUdeviceptr *out, std::size_t size, CUstream handle) {
  require(out != nullptr);
  Stream &stream = call.stream(handle);
  if (size == 0) return *out = 0, CUDA_SUCCESS;
  return allocate_from(call, stream, current_pool(call, *stream.context->device), out, size);
}

CUresult allocate_from_pool(Call &call, CUdeviceptr *out, std::size_t size, CUmemoryPool pool,
                            CUstream handle) {
  require(out != nullptr);
  Stream &stream = call.stream(handle);
  Pool &from = call.pool(pool);
  if (size == 0) return *out = 0, CUDA_SUCCESS;  // measured, driver 580
  return allocate_from(call, stream, from, out, size);
}

CUresult free(Call &call, CUdeviceptr address, CUstream handle) {
  Stream &stream = call.stream(handle);
  if (address == 0) return CUDA_SUCCESS;
  System &system = call.system;
  Allocation *const allocation = system.memory.find(address);
  require(allocation != nullptr && allocation->base == address && allocation->is_usable());
  require(allocation->kind != MemoryKind::managed, CUDA_ERROR_NOT_SUPPORTED);
  require(allocation->kind == MemoryKind::device && allocation->imported == nullptr &&
          allocation->mapping == nullptr && !allocation->is_of_module);
  // The context may be destroyed before this runs, without waiting for it, and the address may be reused.
  const Work work = call.add(stream, {.cost = call.costs(*stream.context).memory_operation,
                                      .run = [&system, address, id = allocation->id](Move &) {
                                        if (Allocation *const freed = system.memory.find(address, id))
                                          system.release(*freed);
                                      }});
  allocation->is_freed = true;
  // The pool's counter decreases at once, before the stream runs the free. Measured, driver 580.
  if (allocation->pool != nullptr) allocation->pool->give_back(allocation->size);
  call.start(work);
  return CUDA_SUCCESS;
}

// Only default pools exist, which cannot be destroyed.
CUresult destroy(Call &call, CUmemoryPool handle) {
  call.pool(handle);
  return CUDA_ERROR_INVALID_VALUE;
}

// ---- Attributes ----

// Returns the 64-bit value that the attribute names; null if it names none.
unsigned long long *number_of(Pool &pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return &pool.release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return &pool.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return &pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool.used_high;
    default:
      return nullptr;
  }
}

int *choice_of(Pool &pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return &pool.reuse_follow_event;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      return &pool.reuse_opportunistic;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return &pool.reuse_internal;
    default:
      return nullptr;
  }
}

CUresult get_attribute(Call &call, CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  Pool &pool = call.pool(handle);
  require(value != nullptr);
  if (const int *const choice = choice_of(pool, attribute)) {
    std::memcpy(value, choice, sizeof *choice);
    return CUDA_SUCCESS;
  }
  const unsigned long long *const number = number_of(pool, attribute);
  require(number != nullptr);
  std::memcpy(value, number, sizeof *number);
  return CUDA_SUCCESS;
}

CUresult set_attribute(Call &call, CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  Pool &pool = call.pool(handle);
  require(value != nullptr);
  if (int *const choice = choice_of(pool, attribute)) {
    std::memcpy(choice, value, sizeof *choice);
    return CUDA_SUCCESS;
  }
  unsigned long long wanted = 0;
  std::memcpy(&wanted, value, sizeof wanted);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool.release_threshold = wanted;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:  // high-water marks can only be reset
      require(wanted == 0);
      pool.reserved_high = pool.reserved;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      require(wanted == 0);
      pool.used_high = pool.used;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult trim(Call &call, CUmemoryPool handle, std::size_t keep) {
  call.pool(handle).trim(keep);
  return CUDA_SUCCESS;
}

CUresult get_access(Call &call, CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location) {
  require(flags != nullptr && location != nullptr);
  const Pool &pool = call.pool(handle);
  require(location->type == CU_MEM_LOCATION_TYPE_DEVICE);
  const Device &device = call.device(location->id);
  *flags = &device == pool.device || pool.open_to.contains(&device) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                                    : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

// All descriptors are checked before the first takes effect.
CUresult set_access(Call &call, CUmemoryPool handle, const CUmemAccessDesc *wanted, std::size_t count) {
  Pool &pool = call.pool(handle);
  require(wanted != nullptr && count != 0);
  const std::span all(wanted, count);
  for (const auto &[location, flags] : all) {
    require(location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    const Device &device = call.device(location.id);
    require(flags != CU_MEM_ACCESS_FLAGS_PROT_READ, CUDA_ERROR_NOT_SUPPORTED);
    require(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE || flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    // The pool's own device keeps its access.
    const bool is_possible = &device == pool.device
                                 ? flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                 : device.peers[static_cast<std::size_t>(pool.device->index)].access;
    require(is_possible, CUDA_ERROR_INVALID_DEVICE);
  }
  for (const auto &[location, flags] : all) {
    const Device &device = call.device(location.id);
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
      pool.open_to.erase(&device);
    else if (&device != pool.device)
      pool.open_to.insert(&device);
  }
  return CUDA_SUCCESS;
}

}  // namespace

void serve_pools(Service &service) {
  service.serve<"cuDeviceGetDefaultMemPool", get_default>();
  service.serve<"cuDeviceGetMemPool", get_current>();
  service.serve<"cuDeviceSetMemPool", set_current>();
  service.serve<"cuMemAllocAsync", allocate>();
  service.serve<"cuMemAllocFromPoolAsync", allocate_from_pool>();
  service.serve<"cuMemFreeAsync", free>();
  service.serve<"cuMemPoolGetAttribute", get_attribute>();
  service.serve<"cuMemPoolSetAttribute", set_attribute>();
  service.serve<"cuMemPoolTrimTo", trim>();
  service.serve<"cuMemPoolDestroy", destroy>();
  service.serve<"cuMemPoolGetAccess", get_access>();
  service.serve<"cuMemPoolSetAccess", set_access>();
}

}  // namespace cushim::sim
