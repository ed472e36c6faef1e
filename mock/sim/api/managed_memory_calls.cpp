// SPDX-License-Identifier: Apache-2.0
// Managed memory: allocation, advice, prefetches, attributes of ranges.
#include "api/managed_memory_calls.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "api/service.hpp"
#include "graphs/capturing.hpp"
#include "memory/location.hpp"

namespace cushim::sim {
namespace {

// Constants from CUDA 12.2, which older headers lack.
constexpr int kPreferredLocationType = 5;  // CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
constexpr int kPreferredLocationId = 6;
constexpr int kLastPrefetchLocationType = 7;
constexpr int kLastPrefetchLocationId = 8;

constexpr PageLocation kOnHost{kHostLocation, CU_DEVICE_CPU, CU_DEVICE_CPU};

PageLocation on_device(Call &call, CUdevice number, CUresult no_device) {
  call.device(number, no_device);
  return {CU_MEM_LOCATION_TYPE_DEVICE, number, number};
}

// Returns the location of a device number, as the first ABIs take it.
PageLocation numbered_location(Call &call, CUdevice number) {
  return number == CU_DEVICE_CPU ? kOnHost : on_device(call, number, CUDA_ERROR_INVALID_DEVICE);
}

// Returns the location without the number that the program gives the host.
PageLocation without_host_number(const PageLocation &location) {
  return location.type == kHostLocation ? kOnHost : location;
}

// Returns whether a location that names a node of the host names the only one.
bool has_host_node(const CUmemLocation &at) { return at.type != kHostNodeLocation || at.id == 0; }

CUresult allocate(Call &call, CUdeviceptr *out, std::size_t size, unsigned flags) {
  require(out != nullptr);
  require(size != 0 && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
  require_no_strict_capture(call);
  Context &context = call.context();
  ManagedPlace place = call.system.managed_blocks.place(context, size);
  Allocation *const made = call.system.memory.allocate_on_host(MemoryKind::managed, size);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
  made->device = context.device;
  made->flags = flags;
  made->managed = std::move(place);
  made->synchronizes = true;  // reported value, measured on driver 580
  *out = made->base;
  return CUDA_SUCCESS;
}

}  // namespace

Allocation &managed_range(Call &call, CUdeviceptr address, std::size_t size) {
  Allocation *const allocation = call.system.memory.find(address);
  require(size != 0 && allocation != nullptr && allocation->kind == MemoryKind::managed &&
          size <= allocation->end() - address);
  if (allocation->managed.pages == nullptr)
    allocation->managed.pages = std::make_shared<ManagedPages>(allocation->size);
  return *allocation;
}

PageLocation page_location(Call &call, const CUmemLocation &location, CUresult no_device) {
  switch (const int type = location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return on_device(call, location.id, no_device);
    case kHostNodeLocation:
      require(has_host_node(location));
      [[fallthrough]];
    case kHostLocation:
    case kCurrentHostNodeLocation:
      return {type, CU_DEVICE_CPU, location.id};
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

void set_prefetched(Allocation &allocation, CUdeviceptr address, std::size_t size, const PageLocation &to) {
  allocation.managed.change(address - allocation.base, size, [&](PageState &page) { page.prefetched = to; });
}

namespace {

// ---- Prefetches: managed bytes are always accessible everywhere, so a prefetch moves nothing ----

// Checks the location before the memory. Measured, driver 580.
template <class FindLocation>
CUresult prefetch_to_location(Call &call, CUdeviceptr address, std::size_t size, CUstream handle,
                              FindLocation find_location) {
  Stream &stream = call.stream(handle);
  require(address != 0 && size != 0);
  const PageLocation to = find_location();
  set_prefetched(managed_range(call, address, size), address, size, to);
  call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

CUresult prefetch(Call &call, CUdeviceptr address, std::size_t size, CUdevice to, CUstream handle) {
  return prefetch_to_location(call, address, size, handle, [&] { return numbered_location(call, to); });
}

bool is_known(int location_type) {
  return location_type >= CU_MEM_LOCATION_TYPE_DEVICE && location_type <= kCurrentHostNodeLocation;
}

CUresult prefetch_to(Call &call, CUdeviceptr address, std::size_t size, CUmemLocation to, unsigned flags,
                     CUstream handle) {
  require(flags == 0 && is_known(to.type) && has_host_node(to));
  return prefetch_to_location(call, address, size, handle, [&] {
    return without_host_number(page_location(call, to, CUDA_ERROR_INVALID_DEVICE));
  });
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

bool is_about_access(CUmem_advise advice) {
  return advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

bool has_location(CUmem_advise advice) {
  return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || is_about_access(advice);
}

// find_location() returns the location; nothing if the advice has no effect there.
template <class FindLocation>
CUresult advise_at_location(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice,
                            FindLocation find_location) {
  require_no_strict_capture(call);
  require(advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
  call.context();
  Allocation &allocation = managed_range(call, address, size);
  if (const std::optional<PageLocation> at = find_location())
    allocation.managed.change(address - allocation.base, size,
                              [&](PageState &page) { set_advice(page, advice, *at); });
  return CUDA_SUCCESS;
}

CUresult advise(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUdevice device) {
  return advise_at_location(call, address, size, advice, [&]() -> std::optional<PageLocation> {
    return has_location(advice) ? numbered_location(call, device) : PageLocation{};
  });
}

// Advice for a host node has no effect, and its other arguments are not checked. Measured on an H200, driver
// 580.159.
CUresult advise_at(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUmemLocation at) {
  if (at.type == kHostNodeLocation || at.type == kCurrentHostNodeLocation) {
    require(advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
    require(!is_about_access(advice));
    require(advice != CU_MEM_ADVISE_SET_PREFERRED_LOCATION || has_host_node(at));
    return CUDA_SUCCESS;
  }
  require(is_known(at.type));
  PageLocation location;
  if (has_location(advice)) location = page_location(call, at, CUDA_ERROR_INVALID_VALUE);
  return advise_at_location(call, address, size, advice,
                            [&] { return std::optional(without_host_number(location)); });
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
      *answer = state.preferred.device;
      break;
    case kPreferredLocationId:
      *answer = state.preferred.id;
      break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      list_accessors(state.accessed_by, answer, size / sizeof(int));
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      *answer = state.prefetched.device;
      break;
    case kLastPrefetchLocationId:
      *answer = state.prefetched.id;
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

// Only the first and the last byte must be of one allocation. A range that wraps around has no pages, so all
// devices access all of its pages. Measured on an H200, driver 580.159.
PageState range_state(Call &call, CUdeviceptr address, std::size_t count) {
  require(count != 0);
  const CUdeviceptr last = address + count - 1;
  if (last < address) {
    managed_range(call, last, address - last + 1);
    PageState state{.is_read_mostly = true};
    for (const Device *device : call.system.visible) state.accessed_by.insert(device->ordinal);
    return state;
  }
  const Allocation &allocation = managed_range(call, address, count);
  return allocation.managed.common(address - allocation.base, count);
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
  call.context();
  require(values != nullptr && sizes != nullptr && attributes != nullptr);
  require(attribute_count != 0);
  for (std::size_t i = 0; i < attribute_count; ++i) check_attribute(values[i], sizes[i], attributes[i]);
  const PageState state = range_state(call, address, count);
  for (std::size_t i = 0; i < attribute_count; ++i)
    get_range_attribute(state, values[i], sizes[i], attributes[i]);
  return CUDA_SUCCESS;
}

// ---- Residency: documentation ----

// Returns whether the page of host memory is resident. INVALID_VALUE if nothing is mapped there.
bool is_resident(CUdeviceptr address) {
  unsigned char state = 0;
  auto *const page = reinterpret_cast<void *>(address / ManagedPages::kPage * ManagedPages::kPage);
  require(mincore(page, ManagedPages::kPage, &state) == 0);
  return (state & 1) != 0;
}

// Returns managed memory, or null for pageable memory of the host; else INVALID_VALUE.
Allocation *residency_range(Call &call, CUdeviceptr address, std::size_t size) {
  if (call.system.memory.find(address) != nullptr) return &managed_range(call, address, size);
  require(!call.system.memory.is_of_device(address) && !call.system.memory.overlaps(address, size));
  return nullptr;
}

// The location of a page is that of its last prefetch, else the host if the page has been written to: the
// simulated driver does not notice later accesses.
CUresult get_location_info(Call &call, CUdeviceptr address, std::size_t size, std::size_t summary,
                           std::size_t sampling, CUmemLocation *out) {
  require(out != nullptr && address != 0 && size != 0 && size <= UINT64_MAX - address);
  require(summary != 0 && summary <= size && sampling <= summary);
  for (const auto &device : call.system.devices)
    require(device->attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0, CUDA_ERROR_NOT_SUPPORTED);
  const Allocation *const managed = residency_range(call, address, size);
  const std::size_t interval = sampling != 0 ? sampling : ManagedPages::kPage;
  using Location = std::pair<int, int>;  // type and id
  const auto location_at = [&](CUdeviceptr at) -> Location {
    if (managed != nullptr) {
      const PageLocation prefetched = managed->managed.common(at - managed->base, 1).prefetched;
      if (prefetched.type == CU_MEM_LOCATION_TYPE_DEVICE) return {prefetched.type, prefetched.id};
      if (prefetched.type != CU_MEM_LOCATION_TYPE_INVALID) return {kHostLocation, 0};
    }
    return {is_resident(at) ? kHostLocation : kNoLocation, 0};
  };
  for (std::size_t begin = 0; begin < size; begin += summary) {
    const std::size_t end = begin + std::min(summary, size - begin);
    std::map<Location, std::size_t> counts;
    for (std::size_t at = begin; at < end; at += std::min(interval, end - at))
      ++counts[location_at(address + at)];
    const auto most = std::ranges::max_element(counts, {}, [](const auto &entry) { return entry.second; });
    *out = {};
    out->type = static_cast<CUmemLocationType>(most->first.first);
    out->id = most->first.second;
    ++out;
  }
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_managed_memory = {
    entry<"cuMemAllocManaged", allocate>,
    entry<"cuMemPrefetchAsync", prefetch>,
    entry<"cuMemPrefetchAsync", prefetch_to>,
    entry<"cuMemAdvise", advise>,
    entry<"cuMemAdvise", advise_at>,
    entry<"cuMemRangeGetAttribute", one_range_attribute>,
    entry<"cuMemRangeGetAttributes", range_attributes>,
    entry<"cuMemGetLocationInfo", get_location_info>,
};

}  // namespace cushim::sim
