// SPDX-License-Identifier: Apache-2.0
// Managed memory: allocation, advice, prefetches, attributes of ranges.
#include "api/managed_memory_calls.hpp"

#include <algorithm>

#include "api/service.hpp"
#include "memory/location.hpp"

namespace cushim::sim {
namespace {

// Constants from CUDA 12.2, which older headers lack.
constexpr int kCurrentHostNode = 4;        // CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
constexpr int kPreferredLocationType = 5;  // CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
constexpr int kPreferredLocationId = 6;
constexpr int kLastPrefetchLocationType = 7;
constexpr int kLastPrefetchLocationId = 8;

constexpr PageLocation kOnHost{kHostLocation, CU_DEVICE_CPU};

PageLocation on_device(Call &call, CUdevice number) {
  call.device(number);
  return {CU_MEM_LOCATION_TYPE_DEVICE, number};
}

// Returns the location of a device number, as the first ABIs take it.
PageLocation numbered_location(Call &call, CUdevice number) {
  return number == CU_DEVICE_CPU ? kOnHost : on_device(call, number);
}

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

}  // namespace

Allocation &managed_range(Call &call, CUdeviceptr address, std::size_t size) {
  Allocation *const allocation = call.system.memory.find(address);
  require(size != 0 && allocation != nullptr && allocation->kind == MemoryKind::managed &&
          size <= allocation->end() - address);
  if (allocation->pages == nullptr) allocation->pages = std::make_unique<ManagedPages>();
  return *allocation;
}

PageLocation page_location(Call &call, const CUmemLocation &location) {
  switch (static_cast<int>(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return on_device(call, location.id);
    case kHostLocation:
      return kOnHost;
    case kHostNodeLocation:
      require(location.id == 0);
      return {};
    case kCurrentHostNode:
      return {};
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

void set_prefetched(Allocation &allocation, CUdeviceptr address, std::size_t size, const PageLocation &to) {
  allocation.pages->change(address - allocation.base, size, [&](PageState &page) { page.prefetched = to; });
}

namespace {

// ---- Prefetches: managed bytes are always accessible everywhere, so a prefetch moves nothing ----

template <class FindLocation>
CUresult prefetch_to_location(Call &call, CUdeviceptr address, std::size_t size, CUstream handle,
                              FindLocation find_location) {
  Stream &stream = call.stream(handle);
  Allocation &allocation = managed_range(call, address, size);
  set_prefetched(allocation, address, size, find_location());
  call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

CUresult prefetch(Call &call, CUdeviceptr address, std::size_t size, CUdevice to, CUstream handle) {
  return prefetch_to_location(call, address, size, handle, [&] { return numbered_location(call, to); });
}

CUresult prefetch_to(Call &call, CUdeviceptr address, std::size_t size, CUmemLocation to, unsigned flags,
                     CUstream handle) {
  require(flags == 0);
  return prefetch_to_location(call, address, size, handle, [&] { return page_location(call, to); });
}

// ---- Advice: stored and returned, without an effect ----

void set_advice(PageState &page, CUmem_advise advice, const PageLocation &at) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      page.is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      page.preferred = at;
      break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
      page.accessed_by.insert(at.device);
      break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      page.accessed_by.erase(at.device);
      break;
  }
}

bool has_location(CUmem_advise advice) {
  return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
         advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

template <class FindLocation>
CUresult advise_at_location(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice,
                            FindLocation find_location) {
  require(advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
  Allocation &allocation = managed_range(call, address, size);
  const PageLocation at = has_location(advice) ? find_location() : PageLocation{};
  allocation.pages->change(address - allocation.base, size,
                           [&](PageState &page) { set_advice(page, advice, at); });
  return CUDA_SUCCESS;
}

CUresult advise(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUdevice device) {
  return advise_at_location(call, address, size, advice, [&] { return numbered_location(call, device); });
}

CUresult advise_at(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUmemLocation at) {
  return advise_at_location(call, address, size, advice, [&] {
    const PageLocation location = page_location(call, at);
    // Only a device or the host is accessed by.
    require(location != PageLocation{} || advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
    return location;
  });
}

// ---- Attributes of ranges ----

// Lists the devices, then the host, as documented; fills the rest of the list with CU_DEVICE_INVALID.
void list_accessors(const std::set<int> &places, int *list, std::size_t count) {
  std::fill_n(list, count, CU_DEVICE_INVALID);
  for (const int place : places)
    if (place != CU_DEVICE_CPU && count != 0) *list++ = place, --count;
  if (places.contains(CU_DEVICE_CPU) && count != 0) *list = CU_DEVICE_CPU;
}

void check_attribute(const void *value, std::size_t size, int attribute) {
  require(value != nullptr && attribute >= CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY &&
          attribute <= kLastPrefetchLocationId);
  const bool is_list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
  require(is_list ? size != 0 && size % sizeof(int) == 0 : size == sizeof(int));
}

void get_range_attribute(const PageState &state, void *value, std::size_t size, int attribute) {
  int *const answer = static_cast<int *>(value);
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      *answer = state.is_read_mostly;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case kPreferredLocationId:
      *answer = state.preferred.device;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      list_accessors(state.accessed_by, answer, size / sizeof(int));
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    case kLastPrefetchLocationId:
      *answer = state.prefetched.device;
      break;
    case kPreferredLocationType:
      *answer = state.preferred.type;
      break;
    case kLastPrefetchLocationType:
      *answer = state.prefetched.type;
      break;
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

PageState range_state(Call &call, CUdeviceptr address, std::size_t count) {
  const Allocation &allocation = managed_range(call, address, count);
  return allocation.pages->common(address - allocation.base, count);
}

CUresult one_range_attribute(Call &call, void *value, std::size_t size, CUmem_range_attribute attribute,
                             CUdeviceptr address, std::size_t count) {
  call.context();
  check_attribute(value, size, attribute);
  get_range_attribute(range_state(call, address, count), value, size, attribute);
  return CUDA_SUCCESS;
}

// Checks all attributes before it writes the first value.
CUresult range_attributes(Call &call, void **values, std::size_t *sizes, CUmem_range_attribute *attributes,
                          std::size_t attribute_count, CUdeviceptr address, std::size_t count) {
  require(values != nullptr && sizes != nullptr && attributes != nullptr && attribute_count != 0);
  call.context();
  for (std::size_t i = 0; i < attribute_count; ++i) check_attribute(values[i], sizes[i], attributes[i]);
  const PageState state = range_state(call, address, count);
  for (std::size_t i = 0; i < attribute_count; ++i)
    get_range_attribute(state, values[i], sizes[i], attributes[i]);
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
