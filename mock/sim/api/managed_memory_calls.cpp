// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

// Constants from CUDA 12.2, which older headers lack.
constexpr int kHostLocation = 2;           // CU_MEM_LOCATION_TYPE_HOST
constexpr int kHostNodeLocation = 3;       // CU_MEM_LOCATION_TYPE_HOST_NUMA
constexpr int kPreferredLocationType = 5;  // CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
constexpr int kPreferredLocationId = 6;
constexpr int kLastPrefetchLocationType = 7;
constexpr int kLastPrefetchLocationId = 8;

CUresult allocate(Call &call, CUdeviceptr *out, std::size_t size, unsigned flags) {
  require(out != nullptr);
  require(size != 0 && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
  Context &context = call.context();
  Allocation *const made = call.system.memory.allocate_on_host(MemoryKind::managed, size);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
  made->device = context.device;
  made->flags = flags;
  made->synchronizes = true;  // reported value, measured on driver 580
  *out = made->base;
  return CUDA_SUCCESS;
}

// Returns the device that a location names, or CU_DEVICE_CPU. The host's NUMA node 0 is accepted, but
// reported as CU_DEVICE_INVALID later. Measured, driver 580.
int place_of(const CUmemLocation &location) {
  const int type = location.type;
  if (type == kHostNodeLocation) {
    require(location.id == 0);
    return CU_DEVICE_INVALID;
  }
  require(type == CU_MEM_LOCATION_TYPE_DEVICE || type == kHostLocation);
  return type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

// Managed bytes are always accessible everywhere, so a prefetch moves nothing; it is an empty operation.
CUresult prefetch_to_location(Call &call, CUdeviceptr address, std::size_t size, int to, bool is_device,
                              CUstream handle) {
  Stream &stream = call.stream(handle);
  require(size != 0);
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::managed &&
          size <= allocation->end() - address);
  if (is_device) call.device(to);
  allocation->last_prefetch = to;
  call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

CUresult prefetch(Call &call, CUdeviceptr address, std::size_t size, CUdevice to, CUstream handle) {
  return prefetch_to_location(call, address, size, to, to != CU_DEVICE_CPU, handle);
}

CUresult prefetch_to(Call &call, CUdeviceptr address, std::size_t size, CUmemLocation to, unsigned flags,
                     CUstream handle) {
  require(flags == 0);
  const int place = place_of(to);
  const bool is_device = place != CU_DEVICE_CPU && to.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return prefetch_to_location(call, address, size, place, is_device, handle);
}

// The real driver keeps advice per address range; here it applies to the whole allocation.
CUresult advise(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUdevice device) {
  require(size != 0 && advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::managed &&
          size <= allocation->end() - address);
  Advice &advised = allocation->advice;
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      advised.is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      advised.preferred_location = device;
      break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      advised.preferred_location = CU_DEVICE_INVALID;
      break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
      advised.accessed_by.insert(device);
      break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      advised.accessed_by.erase(device);
      break;
  }
  return CUDA_SUCCESS;
}

CUresult advise_at(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUmemLocation at) {
  require(static_cast<int>(at.type) != kHostNodeLocation || advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
  return advise(call, address, size, advice, place_of(at));
}

int location_type(int place) {
  if (place == CU_DEVICE_INVALID) return CU_MEM_LOCATION_TYPE_INVALID;
  return place == CU_DEVICE_CPU ? kHostLocation : CU_MEM_LOCATION_TYPE_DEVICE;
}

// Lists the devices, then the host, as documented; fills the rest of the list with CU_DEVICE_INVALID.
void list_accessors(const std::set<int> &places, int *list, std::size_t count) {
  std::fill_n(list, count, CU_DEVICE_INVALID);
  for (const int place : places)
    if (place != CU_DEVICE_CPU && count != 0) *list++ = place, --count;
  if (places.contains(CU_DEVICE_CPU) && count != 0) *list = CU_DEVICE_CPU;
}

void get_range_attribute(const Allocation &allocation, void *value, std::size_t size, int attribute) {
  require(value != nullptr && size >= sizeof(int) && size % sizeof(int) == 0);
  int *const answer = static_cast<int *>(value);
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      *answer = allocation.advice.is_read_mostly;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case kPreferredLocationId:
      *answer = allocation.advice.preferred_location;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      list_accessors(allocation.advice.accessed_by, answer, size / sizeof(int));
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    case kLastPrefetchLocationId:
      *answer = allocation.last_prefetch;
      break;
    case kPreferredLocationType:
      *answer = location_type(allocation.advice.preferred_location);
      break;
    case kLastPrefetchLocationType:
      *answer = location_type(allocation.last_prefetch);
      break;
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

const Allocation &managed_range(Call &call, CUdeviceptr address, std::size_t count) {
  call.context();
  const Allocation *const allocation = call.system.memory.find(address);
  require(count != 0 && allocation != nullptr && allocation->kind == MemoryKind::managed &&
          count <= allocation->end() - address);
  return *allocation;
}

CUresult one_range_attribute(Call &call, void *value, std::size_t size, CUmem_range_attribute attribute,
                             CUdeviceptr address, std::size_t count) {
  get_range_attribute(managed_range(call, address, count), value, size, attribute);
  return CUDA_SUCCESS;
}

CUresult range_attributes(Call &call, void **values, std::size_t *sizes, CUmem_range_attribute *attributes,
                          std::size_t attribute_count, CUdeviceptr address, std::size_t count) {
  require(values != nullptr && sizes != nullptr && attributes != nullptr && attribute_count != 0);
  const Allocation &allocation = managed_range(call, address, count);
  for (std::size_t i = 0; i < attribute_count; ++i)
    get_range_attribute(allocation, values[i], sizes[i], attributes[i]);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_managed_memory(Service &service) {
  service.serve<"cuMemAllocManaged", allocate>();
  service.serve<"cuMemPrefetchAsync", prefetch>();
  service.serve<"cuMemPrefetchAsync", prefetch_to>();
  service.serve<"cuMemAdvise", advise>();
  service.serve<"cuMemAdvise", advise_at>();
  service.serve<"cuMemRangeGetAttribute", one_range_attribute>();
  service.serve<"cuMemRangeGetAttributes", range_attributes>();
}

}  // namespace cushim::sim
