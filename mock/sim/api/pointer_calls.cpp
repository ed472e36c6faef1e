// SPDX-License-Identifier: Apache-2.0
// Pointer attributes.
#include <cstring>

#include "api/service.hpp"
#include "copy/copy_endpoint.hpp"
#include "graphs/capturing.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {
namespace {

CUmemorytype type_of(const Allocation &allocation) {
  const bool is_host = allocation.kind == MemoryKind::pinned || allocation.kind == MemoryKind::registered;
  return is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

template <class T>
void store(void *out, T value) {
  std::memcpy(out, &value, sizeof value);
}

constexpr int kIsDecompressible = 21;  // CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, since 12.8

// The pages that contain an allocation: 2 MiB on a device, where small allocations share them, else 4 KiB.
struct Mapping {
  CUdeviceptr base;
  std::size_t size;
};
Mapping mapping_of(const Allocation &allocation) {
  if (allocation.mapping != nullptr) return {allocation.base, allocation.size};
  const CUdeviceptr page = allocation.kind == MemoryKind::device ? Memory::kBlock : 4096u;
  const CUdeviceptr base = allocation.base / page * page;
  return {base, rounded_up(allocation.end(), page) - base};
}

// Returns CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: for a mapping, the access of the device or host that has it.
int access_of(const Allocation &allocation) {
  if (allocation.is_read_only()) return CU_MEM_ACCESS_FLAGS_PROT_READ;
  const CUmemAccess_flags access = allocation.mapping != nullptr
                                       ? allocation.mapping->access_of(allocation.device)
                                       : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return static_cast<int>(access);  // the values of both enumerations are the same
}

// Returns whether the host can access the memory at its address.
bool is_on_host(const Allocation &allocation) {
  if (allocation.mapping != nullptr)
    return allocation.mapping->access_of(nullptr) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return allocation.kind != MemoryKind::device;
}

// Returns the size of the attribute's value; 0 for an unknown attribute.
std::size_t size_of(int attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case kIsDecompressible:
      return sizeof(int);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return 8;
    default:
      return 0;
  }
}

// Returns the CUmemAllocationHandleTypes by which other processes can open the memory.
std::uint64_t handle_types_of(const Allocation &allocation) {
  if (allocation.mapping != nullptr) return allocation.mapping->physical->properties.requestedHandleTypes;
  return allocation.pool != nullptr ? static_cast<std::uint64_t>(allocation.pool->handle_types) : 0;
}

// Returns CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: 0 for memory of a host pool that is open to no device.
// Measured, driver 580.
CUdeviceptr start_of(const Allocation &allocation) {
  if (allocation.mapping != nullptr) return allocation.mapping->range->base;
  const bool is_closed = type_of(allocation) == CU_MEMORYTYPE_HOST && allocation.pool != nullptr &&
                         allocation.pool->open_to.empty();
  return is_closed ? 0 : allocation.base;
}

// Returns whether GPUDirect RDMA reaches the memory: memory of a context on a device, and physical memory
// with that flag. Measured on an H200, driver 580.
bool is_capable_of_rdma(const Allocation &allocation) {
  if (allocation.mapping != nullptr)
    return allocation.mapping->physical->properties.allocFlags.gpuDirectRDMACapable != 0;
  return allocation.kind == MemoryKind::device && allocation.pool == nullptr;
}

// Writes the value. Returns INVALID_VALUE if the memory does not have the attribute.
CUresult get(const Allocation &allocation, CUdeviceptr address, int attribute, void *out) {
  const bool is_managed = allocation.kind == MemoryKind::managed;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      // Memory of a pool belongs to the device, not to a context.
      store(out,
            allocation.context != nullptr && allocation.pool == nullptr ? allocation.context->handle : 0);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      store(out, static_cast<int>(type_of(allocation)));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      store(out, address);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      store(out, is_on_host(allocation) ? address : 0);  // written despite the error
      return is_on_host(allocation) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      store(out, static_cast<int>(allocation.synchronizes));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      store(out, allocation.id);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      store(out, static_cast<int>(is_managed));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
      const Device *const device = allocation.device != nullptr    ? allocation.device
                                   : allocation.context != nullptr ? allocation.context->device
                                                                   : nullptr;
      store(out, device != nullptr ? device->ordinal : 0);
      return CUDA_SUCCESS;
    }
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      store(out, static_cast<int>(allocation.kind == MemoryKind::device && allocation.pool == nullptr &&
                                  allocation.imported == nullptr && allocation.mapping == nullptr));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      store(out, start_of(allocation));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      store(out, allocation.mapping != nullptr ? allocation.mapping->range->size : allocation.size);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      store(out, 1);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      store(out, handle_types_of(allocation));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      store(out, static_cast<int>(is_capable_of_rdma(allocation)));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      store(out, access_of(allocation));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      store(out, allocation.pool != nullptr ? allocation.pool->handle : 0);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      store(out, mapping_of(allocation).size);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      store(out, mapping_of(allocation).base);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:  // the same for all allocations in one mapping
      store(out, allocation.mapping != nullptr
                     ? reinterpret_cast<std::uintptr_t>(allocation.mapping->physical->bytes.get())
                     : std::uintptr_t{mapping_of(allocation).base / 4096});
      return CUDA_SUCCESS;
    case kIsDecompressible:
      store(out, static_cast<int>(allocation.kind == MemoryKind::device && allocation.pool == nullptr &&
                                  allocation.mapping == nullptr));
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult get_attribute(Call &call, void *out, CUpointer_attribute attribute, CUdeviceptr address) {
  require(out != nullptr);
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->is_usable());
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
    const Context &context = call.current_or_destroyed();
    require(context.is_alive, CUDA_ERROR_INVALID_CONTEXT);
    require(reaches(context, *allocation));
  }
  return get(*allocation, address, attribute, out);
}

// Returns whether cuPointerGetAttributes keeps the value of an attribute if there is no memory at the
// address. Measured, driver 580.
bool is_kept(int attribute, CUdeviceptr address) {
  return (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && address != 0) ||
         attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE;
}

// Writes zero, without an error, if there is no such memory or it does not have the attribute.
CUresult get_attributes(Call &call, unsigned count, CUpointer_attribute *attributes, void **out,
                        CUdeviceptr address) {
  require(attributes != nullptr && out != nullptr && count != 0);
  call.require_no_destroyed_context();  // a context is not required, and may have a fault; measured, driver
                                        // 580
  const Allocation *const allocation = call.system.memory.find(address);
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t size = size_of(attributes[i]);
    require(size != 0 && out[i] != nullptr);
    const bool is_found = allocation != nullptr && allocation->is_usable();
    if (!is_found && is_kept(attributes[i], address)) continue;
    const bool is_reached = attributes[i] != CU_POINTER_ATTRIBUTE_DEVICE_POINTER || call.current() != nullptr;
    const bool has =
        is_found && is_reached && get(*allocation, address, attributes[i], out[i]) == CUDA_SUCCESS;
    if (!has) std::memset(out[i], 0, size);
    if (!has && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) store(out[i], -2);
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(Call &call, const void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  require(value != nullptr);
  require_no_strict_capture(call);
  // A current context is not required, but must not be destroyed.
  if (call.current() != nullptr) require(call.current_or_destroyed().is_alive);
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr);
  require(allocation->mapping == nullptr, CUDA_ERROR_NOT_SUPPORTED);
  require(attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
  int wanted = 0;
  std::memcpy(&wanted, value, sizeof wanted);
  allocation->synchronizes = wanted != 0;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_pointers = {
    entry<"cuPointerGetAttribute", get_attribute>,
    entry<"cuPointerGetAttributes", get_attributes>,
    entry<"cuPointerSetAttribute", set_attribute>,
};

}  // namespace cushim::sim
