// SPDX-License-Identifier: Apache-2.0
// Memory pools: creation, attributes, access, and the pools of locations.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

CUmemoryPool handle_of(const Pool &pool) { return reinterpret_cast<CUmemoryPool>(pool.handle); }
CUmemoryPool current_of(const PlacePools &pools) { return reinterpret_cast<CUmemoryPool>(pools.current); }

PoolPlace place_of(const Device &device) { return {.id = device.index}; }

// Returns the device with this ordinal; else INVALID_VALUE, as most pool calls do.
Device &pool_device(Call &call, CUdevice number) { return call.device(number, CUDA_ERROR_INVALID_VALUE); }

CUresult get_default(Call &call, CUmemoryPool *out, CUdevice number) {
  Device &device = call.device(number);  // before the pointer: measured on an H200, driver 580
  require(out != nullptr);
  *out = handle_of(*call.system.pools_of(place_of(device)).usual);
  return CUDA_SUCCESS;
}

CUresult get_current(Call &call, CUmemoryPool *out, CUdevice number) {
  require(out != nullptr);
  *out = current_of(call.system.pools_of(place_of(pool_device(call, number))));
  return CUDA_SUCCESS;
}

void set_current(Call &call, const PoolPlace &place, CUmemoryPool handle) {
  Pool &pool = call.pool(handle);
  require(pool.place == place && !pool.is_imported);
  call.system.pools_of(place).current = pool.handle;
}

// Accepts a pool of managed memory, too, and makes it current for managed memory.
CUresult set_current_of_device(Call &call, CUdevice number, CUmemoryPool handle) {
  PoolPlace place = place_of(pool_device(call, number));
  place.allocation = call.pool(handle).place.allocation;
  set_current(call, place, handle);
  return CUDA_SUCCESS;
}

// ---- Pools of locations ----

// Returns the location that a program names; else INVALID_VALUE, or `unknown_type` for a type of locations
// that pools do not have. The machine has one NUMA node, node 0.
PoolPlace place_of(Call &call, const CUmemLocation &location, CUmemAllocationType type,
                   CUresult unknown_type = CUDA_ERROR_INVALID_VALUE) {
  const PoolPlace place{.allocation = static_cast<int>(type), .location = static_cast<int>(location.type)};
  require(place.location == kNoLocation || place.location == kDeviceLocation ||
              place.location == kHostLocation || place.location == kHostNodeLocation,
          unknown_type);
  require(place.allocation == kPinnedAllocation || place.allocation == kManagedAllocation);
  switch (place.location) {
    case kDeviceLocation:
      return {place.allocation, place.location, pool_device(call, location.id).index};
    case kHostNodeLocation:
      require(location.id == 0);
      return place;
    case kNoLocation:
      require(place.allocation == kManagedAllocation);
      return place;
    default:
      return place;
  }
}

CUresult get_default_of_location(Call &call, CUmemoryPool *out, CUmemLocation *location,
                                 CUmemAllocationType type) {
  require(out != nullptr && location != nullptr);
  *out = handle_of(*call.system.pools_of(place_of(call, *location, type, CUDA_ERROR_NOT_SUPPORTED)).usual);
  return CUDA_SUCCESS;
}

CUresult get_current_of_location(Call &call, CUmemoryPool *out, CUmemLocation *location,
                                 CUmemAllocationType type) {
  require(out != nullptr && location != nullptr);
  *out = current_of(call.system.pools_of(place_of(call, *location, type, CUDA_ERROR_NOT_SUPPORTED)));
  return CUDA_SUCCESS;
}

CUresult set_current_of_location(Call &call, CUmemLocation *location, CUmemAllocationType type,
                                 CUmemoryPool handle) {
  require(location != nullptr && handle != nullptr);
  set_current(call, place_of(call, *location, type, CUDA_ERROR_NOT_SUPPORTED), handle);
  return CUDA_SUCCESS;
}

// ---- Creating and destroying ----

// The members after win32SecurityAttributes, which older headers call reserved.
struct LaterProperties {
  std::size_t max_size;  // maxSize, CUDA 12.2
  unsigned short usage;  // CUDA 12.9
  unsigned char reserved[54];
};
static_assert(sizeof(LaterProperties) == 64);

LaterProperties later_properties(const CUmemPoolProps &properties) {
  constexpr std::size_t offset = offsetof(CUmemPoolProps, win32SecurityAttributes) + sizeof(void *);
  static_assert(offset + sizeof(LaterProperties) == sizeof properties);
  LaterProperties later;
  std::memcpy(&later, reinterpret_cast<const char *>(&properties) + offset, sizeof later);
  return later;
}

CUresult create(Call &call, CUmemoryPool *out, const CUmemPoolProps *properties) {
  require(out != nullptr && properties != nullptr);
  CUmemLocation location = properties->location;
  // The current node is a location for managed memory alone.
  if (location.type == kCurrentHostNodeLocation && properties->allocType == kManagedAllocation)
    location.type = static_cast<CUmemLocationType>(kHostNodeLocation), location.id = 0;
  const PoolPlace place = place_of(call, location, properties->allocType);
  const LaterProperties later = later_properties(*properties);
  const auto types = static_cast<unsigned>(properties->handleTypes);
  const bool is_exportable = place.allocation == kPinnedAllocation && place.location != kHostLocation;
  constexpr unsigned exportable = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | kFabricHandle;
  require(types == 0 || (is_exportable && (types & ~exportable) == 0));
  require(place.allocation == kPinnedAllocation || later.max_size == 0);
  require(std::ranges::all_of(later.reserved, [](unsigned char byte) { return byte == 0; }));
  Pool &made = call.system.make_pool(place);
  made.max_size = later.max_size;
  made.handle_types = static_cast<int>(types);
  *out = handle_of(made);
  return CUDA_SUCCESS;
}

CUresult destroy(Call &call, CUmemoryPool handle) {
  Pool &pool = call.pool(handle);
  require(!pool.is_default);
  call.system.destroy_pool(pool, call.name);
  return CUDA_SUCCESS;
}

// ---- Attributes ----

// Returns the value of a 64-bit attribute; else INVALID_VALUE.
unsigned long long number_of(const Pool &pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return pool.release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return pool.ranges.reserved();
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return pool.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return pool.used_high;
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
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
  const unsigned long long number = number_of(pool, attribute);
  std::memcpy(value, &number, sizeof number);
  return CUDA_SUCCESS;
}

CUresult set_attribute(Call &call, CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  Pool &pool = call.pool(handle);
  require(value != nullptr);
  if (int *const choice = choice_of(pool, attribute)) {
    std::memcpy(choice, value, sizeof *choice);
    *choice = *choice != 0 ? 1 : 0;
    return CUDA_SUCCESS;
  }
  unsigned long long wanted = 0;
  std::memcpy(&wanted, value, sizeof wanted);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool.is_threshold_lower |= wanted < pool.release_threshold;
      pool.release_threshold = wanted;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:  // high-water marks can only be reset
      require(wanted == 0);
      pool.reserved_high = pool.ranges.reserved();
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
  call.system.trim_pool(call.pool(handle), keep);
  return CUDA_SUCCESS;
}

// Returns whether a location is on the host.
bool is_host(const CUmemLocation &location) {
  const int type = location.type;
  return type == kHostLocation || (type == kHostNodeLocation && location.id == 0);
}

CUresult get_access(Call &call, CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location) {
  require(flags != nullptr && location != nullptr);
  const Pool &pool = call.pool(handle);
  bool is_open = false;
  if (location->type == CU_MEM_LOCATION_TYPE_DEVICE) {
    const Device &device = pool_device(call, location->id);
    // Managed memory is accessible without access of its pool.
    is_open = pool.kind == MemoryKind::managed ? pool.open_to.contains(&device) : pool.is_open_to(&device);
  } else {
    // Any node: measured on an H200, driver 580.
    require(is_host(*location) || location->type == kHostNodeLocation);
    is_open = pool.kind == MemoryKind::pinned;
  }
  *flags = is_open ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

// A pool stays open to its own location.
void check_access(Call &call, const Pool &pool, const CUmemAccessDesc &wanted) {
  const auto &[location, flags] = wanted;
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    require(
        pool.kind != MemoryKind::device && is_host(location) && flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        CUDA_ERROR_NOT_SUPPORTED);
    return;
  }
  const Device &device = call.device(location.id);
  require(flags != CU_MEM_ACCESS_FLAGS_PROT_READ, CUDA_ERROR_NOT_SUPPORTED);
  require(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE || flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  if (pool.device == nullptr) return;
  const bool is_possible = &device == pool.device
                               ? flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                               : device.peers[static_cast<std::size_t>(pool.device->index)].access;
  require(is_possible, CUDA_ERROR_INVALID_DEVICE);
}

// All descriptors are checked before the first takes effect.
CUresult set_access(Call &call, CUmemoryPool handle, const CUmemAccessDesc *wanted, std::size_t count) {
  Pool &pool = call.pool(handle);
  require(wanted != nullptr);
  const std::span all(wanted, count);
  for (const CUmemAccessDesc &one : all) check_access(call, pool, one);
  for (const auto &[location, flags] : all) {
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) continue;
    const Device &device = call.device(location.id);
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
      pool.open_to.erase(&device);
    else
      pool.open_to.insert(&device);
  }
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_pools = {
    entry<"cuDeviceGetDefaultMemPool", get_default>,
    entry<"cuDeviceGetMemPool", get_current>,
    entry<"cuDeviceSetMemPool", set_current_of_device>,
    entry<"cuMemGetDefaultMemPool", get_default_of_location>,
    entry<"cuMemGetMemPool", get_current_of_location>,
    entry<"cuMemSetMemPool", set_current_of_location>,
    entry<"cuMemPoolCreate", create>,
    entry<"cuMemPoolDestroy", destroy>,
    entry<"cuMemPoolGetAttribute", get_attribute>,
    entry<"cuMemPoolSetAttribute", set_attribute>,
    entry<"cuMemPoolTrimTo", trim>,
    entry<"cuMemPoolGetAccess", get_access>,
    entry<"cuMemPoolSetAccess", set_access>,
};

}  // namespace cushim::sim
