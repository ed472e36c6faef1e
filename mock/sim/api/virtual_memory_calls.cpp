// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reserved address ranges, physical memory, mappings, access.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

constexpr int kFabric = 8;  // CU_MEM_HANDLE_TYPE_FABRIC, unnamed before 12.3
constexpr int kFileDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

bool is_whole(std::size_t value) { return value % kGranularity == 0; }

// ---- Physical memory ----

PhysicalHandle &handle_of(Call &call, CUmemGenericAllocationHandle handle) {
  const auto *const wanted = reinterpret_cast<const void *>(static_cast<std::uintptr_t>(handle));
  PhysicalHandle *const found = call.system.handles.find<PhysicalHandle>(wanted);
  if (found == nullptr) {
    call.report_misuse(wanted, Kind::physical_memory);
    fail(CUDA_ERROR_INVALID_VALUE);
  }
  return *found;
}

CUmemGenericAllocationHandle new_handle(Call &call, std::shared_ptr<PhysicalMemory> memory) {
  return call.system.handles.add(std::make_unique<PhysicalHandle>(std::move(memory))).handle;
}

// Checks the properties of physical memory, and returns its device. Memory of the host is not implemented.
Device &check(Call &call, const CUmemAllocationProp &properties) {
  require(properties.type == CU_MEM_ALLOCATION_TYPE_PINNED);
  require(properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  Device &device = call.device(properties.location.id);
  require((static_cast<int>(properties.requestedHandleTypes) & ~(kFileDescriptor | kFabric)) == 0);
  return device;
}

CUresult get_granularity(Call &call, std::size_t *granularity, const CUmemAllocationProp *properties,
                         CUmemAllocationGranularity_flags option) {
  require(granularity != nullptr && properties != nullptr);
  require(option == CU_MEM_ALLOC_GRANULARITY_MINIMUM || option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  check(call, *properties);
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

[[noreturn]] void fail_at_limit(const Call &call) {
  report_limit(call.name, errno);
  fail(CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult create(Call &call, CUmemGenericAllocationHandle *handle, std::size_t size,
                const CUmemAllocationProp *properties, unsigned long long flags) {
  require(handle != nullptr && properties != nullptr && flags == 0);
  Device &device = check(call, *properties);
  require(size != 0 && is_whole(size));
  const int handle_types = static_cast<int>(properties->requestedHandleTypes);
  require((handle_types & kFabric) == 0, CUDA_ERROR_NOT_PERMITTED);  // as without a fabric manager
  call.require_room(device, size);
  auto memory = std::make_shared<PhysicalMemory>();
  memory->properties = *properties;
  memory->device = &device;
  memory->bytes = call.system.memory.physical_files.make(size, *properties, device);
  if (memory->bytes == nullptr) fail_at_limit(call);
  *handle = new_handle(call, std::move(memory));
  return CUDA_SUCCESS;
}

CUresult release(Call &call, CUmemGenericAllocationHandle handle) {
  PhysicalHandle &released = handle_of(call, handle);
  if (--released.references == 0) call.system.handles.erase(released, call.name);
  return CUDA_SUCCESS;
}

CUresult get_properties(Call &call, CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle) {
  require(properties != nullptr);
  *properties = handle_of(call, handle).memory->properties;
  return CUDA_SUCCESS;
}

Allocation *mapping_at(Call &call, CUdeviceptr address) {
  Allocation *const allocation = call.system.memory.find(address);
  return allocation != nullptr && allocation->mapping != nullptr ? allocation : nullptr;
}

CUresult retain(Call &call, CUmemGenericAllocationHandle *handle, void *address) {
  require(handle != nullptr);
  const Allocation *const allocation = mapping_at(call, reinterpret_cast<CUdeviceptr>(address));
  require(allocation != nullptr);
  const std::shared_ptr<PhysicalMemory> &memory = allocation->mapping->physical;
  if (memory->handle == nullptr) return *handle = new_handle(call, memory), CUDA_SUCCESS;
  ++memory->handle->references;
  *handle = memory->handle->handle;
  return CUDA_SUCCESS;
}

// ---- Reserved ranges ----

CUresult reserve(Call &call, CUdeviceptr *out, std::size_t size, std::size_t alignment, CUdeviceptr wanted,
                 unsigned long long flags) {
  require(out != nullptr && flags == 0 && size != 0 && is_whole(size));
  require(alignment == 0 || std::has_single_bit(alignment));
  alignment = std::max(alignment, kGranularity);
  require(wanted % alignment == 0);
  const ReservedRange *const made = call.system.memory.reserved.reserve(size, alignment, wanted);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  *out = made->base;
  return CUDA_SUCCESS;
}

CUresult free(Call &call, CUdeviceptr base, std::size_t size) {
  Memory &memory = call.system.memory;
  const ReservedRange *const range = memory.reserved.find(base);
  require(range != nullptr && range->base == base && range->size == size);
  require(!memory.overlaps(base, size));
  memory.reserved.free(*range);
  return CUDA_SUCCESS;
}

// ---- Mappings ----

CUresult map(Call &call, CUdeviceptr address, std::size_t size, std::size_t offset,
             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  require(flags == 0 && size != 0 && is_whole(size) && is_whole(offset) && is_whole(address));
  Memory &memory = call.system.memory;
  const std::shared_ptr<PhysicalMemory> physical = handle_of(call, handle).memory;
  require(offset <= physical->size() && size <= physical->size() - offset);
  const ReservedRange *const range = memory.reserved.find(address);
  require(range != nullptr && size <= range->end() - address);
  require(!memory.overlaps(address, size));
  if (memory.map(address, size, physical, offset) == nullptr) fail_at_limit(call);
  return CUDA_SUCCESS;
}

// Returns the mappings that a range consists of. INVALID_VALUE if it is not all of one or more mappings.
std::vector<Allocation *> whole_mappings(Call &call, CUdeviceptr address, std::size_t size) {
  require(size != 0 && is_whole(size));
  const Allocation *const first = mapping_at(call, address);
  require(first != nullptr && first->base == address);
  std::vector<Allocation *> mappings;
  require(call.system.memory.for_each_in(address, size, [&](Allocation &one) { mappings.push_back(&one); }));
  require(mappings.back()->end() == address + size);
  return mappings;
}

// Waits for the work that uses the mappings.
CUresult unmap(Call &call, CUdeviceptr address, std::size_t size) {
  struct Mapping {
    CUdeviceptr base;
    unsigned long long id;
  };
  std::vector<Mapping> mappings;
  for (const Allocation *one : whole_mappings(call, address, size)) {
    require(one->is_usable());
    mappings.push_back({one->base, one->id});
  }
  for (const Mapping &one : mappings)
    if (Allocation *const mapping = call.system.memory.find(one.base, one.id)) call.release(*mapping);
  return CUDA_SUCCESS;
}

// ---- Access ----

void check_access_flags(CUmemAccess_flags flags) {
  require(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
          flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

CUresult set_access(Call &call, CUdeviceptr address, std::size_t size, const CUmemAccessDesc *list,
                    std::size_t count) {
  require(list != nullptr && count != 0);
  const std::vector<Allocation *> mappings = whole_mappings(call, address, size);
  for (std::size_t i = 0; i < count; ++i) {
    check_access_flags(list[i].flags);
    require(list[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    call.device(list[i].location.id);
  }
  for (Allocation *const one : mappings)
    for (std::size_t i = 0; i < count; ++i)
      one->mapping->access[call.device(list[i].location.id).index] = list[i].flags;
  return CUDA_SUCCESS;
}

CUresult get_access(Call &call, unsigned long long *flags, const CUmemLocation *location,
                    CUdeviceptr address) {
  require(flags != nullptr && location != nullptr);
  require(location->type == CU_MEM_LOCATION_TYPE_DEVICE);
  const Device &device = call.device(location->id);
  const Allocation *const allocation = mapping_at(call, address);
  require(allocation != nullptr);
  *flags = allocation->mapping->access_of(device);
  return CUDA_SUCCESS;
}

// ---- Sharing ----

CUresult export_memory(Call &call, void *out, CUmemGenericAllocationHandle handle,
                       CUmemAllocationHandleType type, unsigned long long flags) {
  require(out != nullptr && flags == 0);
  require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  const PhysicalMemory &memory = *handle_of(call, handle).memory;
  require((static_cast<int>(memory.properties.requestedHandleTypes) & kFileDescriptor) != 0);
  const int descriptor = memory.bytes->new_descriptor();
  if (descriptor < 0) fail_at_limit(call);
  call.system.engine.work_in_background();  // other processes may wait for this one's work
  std::memcpy(out, &descriptor, sizeof descriptor);
  return CUDA_SUCCESS;
}

Device &device_of(Call &call, const CUuuid &uuid) {
  for (Device *const device : call.system.visible)
    if (std::memcmp(&device->uuid, &uuid, sizeof uuid) == 0) return *device;
  fail(CUDA_ERROR_INVALID_VALUE);
}

CUresult import_memory(Call &call, CUmemGenericAllocationHandle *handle, void *os_handle,
                       CUmemAllocationHandleType type) {
  require(handle != nullptr);
  require(static_cast<int>(type) != kFabric, CUDA_ERROR_NOT_PERMITTED);
  require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  auto opened =
      call.system.memory.physical_files.open(static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle)));
  require(opened.has_value());
  auto memory = std::make_shared<PhysicalMemory>();
  memory->bytes = std::move(opened->bytes);
  memory->properties = opened->properties;
  memory->device = &device_of(call, opened->device);
  memory->properties.location.id = memory->device->ordinal;
  check(call, memory->properties);  // the file may be damaged
  call.system.engine.work_in_background();
  *handle = new_handle(call, std::move(memory));
  return CUDA_SUCCESS;
}

// A machine without dma-buf.
CUresult get_range_handle(Call &call, void *handle, CUdeviceptr address, std::size_t size,
                          CUmemRangeHandleType type, unsigned long long flags) {
  constexpr std::size_t kHostPage = 4096;
  constexpr unsigned long long kKnownFlags = 1;  // CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE, since 12.8
  require(handle != nullptr && type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD && (flags & ~kKnownFlags) == 0);
  require(size != 0 && size % kHostPage == 0 && address % kHostPage == 0);
  require(call.system.memory.for_each_in(address, size, [](const Allocation &) {}));
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

void serve_virtual_memory(Service &service) {
  service.serve<"cuMemGetAllocationGranularity", get_granularity>();
  service.serve<"cuMemCreate", create>();
  service.serve<"cuMemRelease", release>();
  service.serve<"cuMemGetAllocationPropertiesFromHandle", get_properties>();
  service.serve<"cuMemRetainAllocationHandle", retain>();
  service.serve<"cuMemAddressReserve", reserve>();
  service.serve<"cuMemAddressFree", free>();
  service.serve<"cuMemMap", map>();
  service.serve<"cuMemUnmap", unmap>();
  service.serve<"cuMemSetAccess", set_access>();
  service.serve<"cuMemGetAccess", get_access>();
  service.serve<"cuMemExportToShareableHandle", export_memory>();
  service.serve<"cuMemImportFromShareableHandle", import_memory>();
  service.serve<"cuMemGetHandleForAddressRange", get_range_handle>();
}

}  // namespace cushim::sim
