// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reserved address ranges, physical memory, mappings, access.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "api/multicast_calls.hpp"
#include "api/physical_import.hpp"
#include "api/service.hpp"
#include "memory/location.hpp"

namespace cushim::sim {
namespace {

constexpr int kWindowsHandles = CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT;
constexpr int kFileDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

bool is_whole(std::size_t value) { return value % kGranularity == 0; }

// ---- Physical memory ----

// A handle of physical memory, not of a multicast object; else INVALID_VALUE.
PhysicalMemory &memory_of(Call &call, CUmemGenericAllocationHandle handle) {
  PhysicalMemory &memory = *call.physical_handle(handle).memory;
  require(memory.multicast == nullptr);
  return memory;
}

CUmemGenericAllocationHandle new_handle(Call &call, std::shared_ptr<PhysicalMemory> memory) {
  return call.system.handles.add(std::make_unique<PhysicalHandle>(std::move(memory))).handle;
}

bool is_host(int location_type) {
  return location_type == kHostLocation || location_type == kHostNodeLocation;
}

// Checks the properties of physical memory, and returns its device; null for memory of the host. The machine
// has one NUMA node, node 0. Measured on an H200, driver 580.159, except the handle types of host memory,
// which follow the documentation of cuMemCreate.
Device *check(Call &call, const CUmemAllocationProp &properties) {
  const int type = static_cast<int>(properties.location.type);
  require(type == CU_MEM_LOCATION_TYPE_DEVICE || is_host(type));
  Device *const device = is_host(type) ? nullptr : &call.device(properties.location.id);
  require(type != kHostNodeLocation || properties.location.id == 0);
  require(type != kHostLocation || properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE);
  require(device != nullptr || (properties.allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_NONE &&
                                properties.allocFlags.gpuDirectRDMACapable == 0));
  require(properties.type == CU_MEM_ALLOCATION_TYPE_PINNED && properties.win32HandleMetaData == nullptr);
  require((static_cast<int>(properties.requestedHandleTypes) & kWindowsHandles) == 0);
  const auto &flags = properties.allocFlags;
  require(flags.compressionType <= CU_MEM_ALLOCATION_COMP_GENERIC);
  require(
      std::all_of(std::begin(flags.reserved), std::end(flags.reserved), [](auto byte) { return byte == 0; }));
  return device;
}

CUresult get_granularity(Call &, std::size_t *granularity, const CUmemAllocationProp *properties,
                         CUmemAllocationGranularity_flags option) {
  require(granularity != nullptr && properties != nullptr);
  require(option == CU_MEM_ALLOC_GRANULARITY_MINIMUM || option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  *granularity =
      kGranularity;  // of any properties, also of invalid ones; measured on an H200, driver 580.159
  return CUDA_SUCCESS;
}

// Returns the properties as the driver stores them: without usage, without unknown handle types,
// gpuDirectRDMACapable as 0 or 1, without compression of memory with it, and the host as NUMA node 0.
// Measured on an H200, driver 580.159.
CUmemAllocationProp stored(CUmemAllocationProp properties) {
  const int handle_types =
      static_cast<int>(properties.requestedHandleTypes) & (kFileDescriptor | kFabricHandle);
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  properties.allocFlags.gpuDirectRDMACapable = properties.allocFlags.gpuDirectRDMACapable != 0;
  properties.allocFlags.usage = 0;
  if (properties.allocFlags.gpuDirectRDMACapable != 0)
    properties.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
  if (properties.location.type == kHostLocation) {
    properties.location.type = static_cast<CUmemLocationType>(kHostNodeLocation);
    properties.location.id = 0;
  }
  return properties;
}

[[noreturn]] void fail_at_limit(const Call &call) {
  report_limit(call.name, errno);
  fail(CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult create(Call &call, CUmemGenericAllocationHandle *handle, std::size_t size,
                const CUmemAllocationProp *properties, unsigned long long flags) {
  require(handle != nullptr && properties != nullptr && flags == 0);
  require(size != 0 && is_whole(size));
  Device *const device = check(call, *properties);
  const CUmemAllocationProp kept = stored(*properties);
  require((static_cast<int>(kept.requestedHandleTypes) & kFabricHandle) == 0,
          CUDA_ERROR_NOT_PERMITTED);  // as without a fabric manager
  if (device != nullptr) call.require_room(*device, size);
  auto memory = std::make_shared<PhysicalMemory>();
  memory->properties = kept;
  memory->device = device;
  memory->is_tile_pool = (properties->allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) != 0;
  memory->bytes = call.system.memory.physical_files.make(size, kept, device);
  if (memory->bytes == nullptr) fail_at_limit(call);
  memory->number = NumberHold(call.system.numbers);
  *handle = new_handle(call, std::move(memory));
  return CUDA_SUCCESS;
}

CUresult release(Call &call, CUmemGenericAllocationHandle handle) {
  PhysicalHandle &released = call.physical_handle(handle);
  if (--released.references == 0) call.system.handles.erase(released, call.name);
  return CUDA_SUCCESS;
}

CUresult get_properties(Call &call, CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle) {
  require(properties != nullptr);
  *properties = memory_of(call, handle).properties;
  return CUDA_SUCCESS;
}

Allocation *mapping_at(Call &call, CUdeviceptr address) {
  Allocation *const allocation = call.system.memory.find(address);
  const bool is_mapping = allocation != nullptr && allocation->mapping != nullptr;
  return is_mapping && !allocation->mapping->is_external ? allocation : nullptr;
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
  bool is_empty = true;
  memory.for_each_overlapping(base, size, [&](const Allocation &) { is_empty = false; });
  require(is_empty);
  memory.reserved.free(*range);
  return CUDA_SUCCESS;
}

// ---- Mappings ----

CUresult map(Call &call, CUdeviceptr address, std::size_t size, std::size_t offset,
             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  require(flags == 0 && size != 0 && address != 0);
  Memory &memory = call.system.memory;
  const std::shared_ptr<PhysicalMemory> physical = call.physical_handle(handle).memory;
  if (physical->multicast != nullptr) prepare_mapping(call, *physical);
  require(offset == 0 && size == physical->size(), CUDA_ERROR_NOT_SUPPORTED);  // no part of the memory
  require(is_whole(address));
  const ReservedRange *const range = memory.reserved.find(address);
  require(range != nullptr && size <= range->end() - address);
  require(!memory.overlaps(address, size));
  if (memory.map(address, *range, physical) == nullptr) fail_at_limit(call);
  return CUDA_SUCCESS;
}

// Returns the mappings in addresses that begin in a reserved range. INVALID_VALUE if other memory is in them,
// or only a part of a mapping. The addresses may exceed the range, and the size needs no granularity:
// measured on an H200, driver 580.159.
std::vector<Allocation *> mappings_in(Call &call, CUdeviceptr address, std::size_t size) {
  require(size != 0 && is_whole(address));
  Memory &memory = call.system.memory;
  require(memory.reserved.find(address) != nullptr && size <= UINT64_MAX - address);
  std::vector<Allocation *> mappings;
  memory.for_each_overlapping(address, size, [&](Allocation &one) {
    require(one.mapping != nullptr && !one.mapping->is_external && one.base >= address &&
            one.end() <= address + size);
    mappings.push_back(&one);
  });
  return mappings;
}

// Waits for the work that uses the mappings.
CUresult unmap(Call &call, CUdeviceptr address, std::size_t size) {
  struct Mapping {
    CUdeviceptr base;
    unsigned long long id;
  };
  std::vector<Mapping> mappings;
  for (const Allocation *one : mappings_in(call, address, size)) {
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

// Returns the device that a description of access names; null for the host.
const Device *accessor(Call &call, const CUmemLocation &location) {
  if (is_host(location.type)) return nullptr;
  require(location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  return &call.device(location.id, CUDA_ERROR_INVALID_VALUE);
}

// Sets the access of the adjacent mappings from `address` on. The last address must be in a mapping, too.
// Addresses without a mapping before it end the adjacent ones without an error; memory that the host cannot
// access ends them with an error. Measured on an H200, driver 580.159.
CUresult set_access(Call &call, CUdeviceptr address, std::size_t size, const CUmemAccessDesc *list,
                    std::size_t count) {
  require(list != nullptr && count != 0);
  const std::vector<Allocation *> mappings = mappings_in(call, address, size);
  require(!mappings.empty() && mappings.front()->base == address && mappings.back()->end() == address + size);
  for (std::size_t i = 0; i < count; ++i) {
    check_access_flags(list[i].flags);
    accessor(call, list[i].location);
  }
  CUdeviceptr reached = address;
  for (Allocation *const one : mappings) {
    if (one->base != reached) break;
    reached = one->end();
    for (std::size_t i = 0; i < count; ++i) {
      const Device *const device = accessor(call, list[i].location);
      // The host can access host memory only.
      require(device != nullptr || one->kind == MemoryKind::pinned, CUDA_ERROR_NOT_SUPPORTED);
      if (!one->mapping->set_access(device, list[i].flags, one->base)) fail_at_limit(call);
    }
  }
  return CUDA_SUCCESS;
}

// For the host it returns the access of the memory's own location; for a NUMA node none to memory of a
// device. Measured on an H200, driver 580.159.
CUresult get_access(Call &call, unsigned long long *flags, const CUmemLocation *location,
                    CUdeviceptr address) {
  require(flags != nullptr && location != nullptr);
  require(address != 0);
  const int type = static_cast<int>(location->type);
  require(type == CU_MEM_LOCATION_TYPE_DEVICE || is_host(type), CUDA_ERROR_INVALID_DEVICE);
  const Device *const device = type == CU_MEM_LOCATION_TYPE_DEVICE ? &call.device(location->id) : nullptr;
  *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;  // even if the address is not of an allocation
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr);
  if (allocation->mapping == nullptr) return CUDA_SUCCESS;
  if (type == kHostNodeLocation && allocation->kind == MemoryKind::device) return CUDA_SUCCESS;
  *flags = allocation->mapping->access_of(device != nullptr ? device : allocation->device);
  return CUDA_SUCCESS;
}

// ---- Sharing ----

CUresult export_memory(Call &call, void *out, CUmemGenericAllocationHandle handle,
                       CUmemAllocationHandleType type, unsigned long long flags) {
  require(out != nullptr && flags == 0);
  require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  const PhysicalMemory &memory = *call.physical_handle(handle).memory;
  require(memory.multicast != nullptr ||
          (static_cast<int>(memory.properties.requestedHandleTypes) & kFileDescriptor) != 0);
  const int descriptor =
      memory.multicast != nullptr ? export_multicast(*memory.multicast) : memory.bytes->new_descriptor();
  if (descriptor < 0) fail_at_limit(call);
  call.system.engine.work_in_background();  // other processes may wait for this one's work
  std::memcpy(out, &descriptor, sizeof descriptor);
  return CUDA_SUCCESS;
}

CUresult import_memory(Call &call, CUmemGenericAllocationHandle *handle, void *os_handle,
                       CUmemAllocationHandleType type) {
  require(handle != nullptr && os_handle != nullptr);
  require(static_cast<int>(type) != kFabricHandle && type != CU_MEM_HANDLE_TYPE_WIN32 &&
              type != CU_MEM_HANDLE_TYPE_WIN32_KMT,
          CUDA_ERROR_NOT_SUPPORTED);
  require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  const int descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
  auto memory = import_multicast(call, descriptor);
  if (memory == nullptr) memory = import_physical(call, descriptor);
  *handle = new_handle(call, std::move(memory));
  return CUDA_SUCCESS;
}

constexpr unsigned long long kOverPcie = 1;  // CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE, since 12.8

// Fails as an H200 does that has no mapping over PCIe. The range may exceed its allocation, but not the block
// of 2 MiB; access to mapped memory is not needed.
void check_range_of_handle(Call &call, CUdeviceptr address, std::size_t size, unsigned long long flags) {
  Memory &memory = call.system.memory;
  const Allocation *const first = memory.find(address);
  require(first != nullptr);
  if (first->mapping == nullptr) {
    require(first->kind == MemoryKind::device);
    const Memory::Blocks blocks = memory.blocks_of(*first);
    const CUdeviceptr end = first->imported != nullptr ? first->end() : blocks.base + blocks.size;
    require(size <= end - address);
  }
  require((flags & kOverPcie) == 0, CUDA_ERROR_NOT_SUPPORTED);
  bool is_of_device = true;
  const bool is_mapped = memory.for_each_in(address, size, [&](const Allocation &part) {
    is_of_device = is_of_device && part.kind == MemoryKind::device;
  });
  require(is_of_device && (is_mapped || first->mapping == nullptr));
}

// The checks are those of an H200, driver 580.159, which then returns a dma-buf. A dma-buf is an object of
// the kernel driver of a device.
CUresult get_range_handle(Call &call, void *handle, CUdeviceptr address, std::size_t size,
                          CUmemRangeHandleType type, unsigned long long flags) {
  constexpr std::size_t kHostPage = 4096;
  constexpr int kNoFile = -1;
  require(handle != nullptr);
  require(flags == 0 || (flags & kOverPcie) != 0);
  require(size != 0 && size % kHostPage == 0 && address != 0 && address % kHostPage == 0);
  call.context();
  require(type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
  std::memcpy(handle, &kNoFile, sizeof kNoFile);
  check_range_of_handle(call, address, size, flags);
  call.system.engine.report(std::string(call.name) +
                            ": there is no dma-buf without a device's kernel driver");
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

std::shared_ptr<PhysicalMemory> import_physical(Call &call, int descriptor) {
  auto opened = call.system.memory.physical_files.open(descriptor);
  require(opened.has_value(), CUDA_ERROR_UNKNOWN);
  auto memory = std::make_shared<PhysicalMemory>();
  memory->bytes = std::move(opened->bytes);
  memory->number = NumberHold(call.system.numbers);
  memory->properties = opened->properties;
  if (memory->properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    memory->device = call.device_with(opened->device);
    require(memory->device != nullptr);
    memory->properties.location.id = memory->device->ordinal;
  }
  check(call, memory->properties);  // the file may be damaged
  // Imported memory is not exported again, and is not told to be capable of RDMA.
  memory->properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  memory->properties.allocFlags.gpuDirectRDMACapable = 0;
  call.system.engine.work_in_background();
  return memory;
}

constinit const Entries entries_of_virtual_memory = {
    entry<"cuMemGetAllocationGranularity", get_granularity>,
    entry<"cuMemCreate", create>,
    entry<"cuMemRelease", release>,
    entry<"cuMemGetAllocationPropertiesFromHandle", get_properties>,
    entry<"cuMemRetainAllocationHandle", retain>,
    entry<"cuMemAddressReserve", reserve>,
    entry<"cuMemAddressFree", free>,
    entry<"cuMemMap", map>,
    entry<"cuMemUnmap", unmap>,
    entry<"cuMemSetAccess", set_access>,
    entry<"cuMemGetAccess", get_access>,
    entry<"cuMemExportToShareableHandle", export_memory>,
    entry<"cuMemImportFromShareableHandle", import_memory>,
    entry<"cuMemGetHandleForAddressRange", get_range_handle>,
};

}  // namespace cushim::sim
