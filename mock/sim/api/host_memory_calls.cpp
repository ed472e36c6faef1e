// SPDX-License-Identifier: Apache-2.0
// Pinned and registered host memory.
#include "api/service.hpp"

namespace cushim::sim {
namespace {

constexpr unsigned kAllocationFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegistrationFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                        CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
constexpr unsigned kReadOnly = CU_MEMHOSTREGISTER_READ_ONLY;

CUdeviceptr address_of(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

CUresult allocate_with_flags(Call &call, void **out, std::size_t size, unsigned flags) {
  Context &context = call.context();
  require(out != nullptr && (flags & ~kAllocationFlags) == 0);
  if (size == 0) return *out = nullptr, CUDA_SUCCESS;
  Allocation *const made = call.system.memory.allocate_on_host(MemoryKind::pinned, size);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
  const auto chunk = call.system.pinned_chunks.chunk_for(context, flags, size);
  // Addressing is unified, so the memory is always mapped. PORTABLE is that of the chunk. Measured, driver
  // 580.
  made->flags = chunk->flags | CU_MEMHOSTALLOC_DEVICEMAP;
  made->numbered = chunk;
  *out = reinterpret_cast<void *>(made->base);
  return CUDA_SUCCESS;
}

CUresult allocate(Call &call, void **out, std::size_t size) {
  return allocate_with_flags(call, out, size, 0);
}

CUresult free(Call &call, void *host) {
  call.require_no_destroyed_context();
  if (host == nullptr) return CUDA_SUCCESS;
  Allocation *const allocation = call.system.memory.find(address_of(host));
  require(allocation != nullptr && allocation->base == address_of(host) &&
          allocation->kind == MemoryKind::pinned && allocation->pool == nullptr &&
          allocation->mapping == nullptr && allocation->is_usable());
  call.release(*allocation);
  return CUDA_SUCCESS;
}

CUresult get_device_pointer(Call &call, CUdeviceptr *out, void *host, unsigned flags) {
  if (out != nullptr) *out = 0;  // also on failure: measured, driver 580
  call.context();
  require(out != nullptr && host != nullptr && flags == 0);
  const Allocation *const allocation = call.system.memory.find(address_of(host));
  // The addresses of mapped memory of a device are accepted, too. Measured on an H200, driver 580.159.
  require(allocation != nullptr && allocation->kind != MemoryKind::managed &&
          (allocation->kind != MemoryKind::device || allocation->mapping != nullptr));
  *out = address_of(host);
  return CUDA_SUCCESS;
}

CUresult get_flags(Call &call, unsigned *flags, void *host) {
  require(flags != nullptr);
  call.context();
  require(host != nullptr);
  const Allocation *const allocation = call.system.memory.find(address_of(host));
  require(allocation != nullptr);
  if (allocation->mapping != nullptr) {  // measured on an H200, driver 580.159
    *flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
  }
  require(allocation->kind != MemoryKind::device && allocation->pool == nullptr);
  // Registered and managed memory is always mapped. The flags of managed memory are about streams.
  const bool is_managed = allocation->kind == MemoryKind::managed;
  const bool is_mapped = is_managed || allocation->kind == MemoryKind::registered;
  *flags = (is_managed ? 0u : allocation->flags & ~kReadOnly) | (is_mapped ? CU_MEMHOSTALLOC_DEVICEMAP : 0u);
  return CUDA_SUCCESS;
}

CUresult add(Call &call, void *host, std::size_t size, unsigned flags) {
  Context &context = call.context();
  require(host != nullptr && size != 0);
  require((flags & ~kRegistrationFlags) == 0);
  require(size <= SIZE_MAX - address_of(host));
  const Allocation *const there = call.system.memory.find(address_of(host));
  require(there == nullptr || there->kind == MemoryKind::registered);
  require(!call.system.memory.is_of_device(address_of(host)));
  require(there == nullptr, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  // Measured, driver 580: the flags count if only the last registered range goes on behind this one.
  call.system.memory.for_each_overlapping(address_of(host), size, [&](const Allocation &other) {
    const bool is_inside = other.end() <= address_of(host) + size;
    const bool is_alike = ((flags ^ other.flags) & (kReadOnly | CU_MEMHOSTREGISTER_IOMEMORY)) == 0;
    fail(is_inside || is_alike ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_ERROR_INVALID_VALUE);
  });
  // A program on the simulated driver cannot have I/O memory of a PCI device.
  require((flags & CU_MEMHOSTREGISTER_IOMEMORY) == 0);
  Allocation &made = call.system.memory.add_registered(host, size);
  made.context = &context;
  made.flags = flags;
  made.numbered = std::make_shared<NumberHold>(call.system.numbers, take_pair(call.system.numbers));
  return CUDA_SUCCESS;
}

CUresult remove(Call &call, void *host) {
  call.require_no_destroyed_context();
  require(host != nullptr);
  Allocation *const allocation = call.system.memory.find(address_of(host));
  require(allocation != nullptr && allocation->is_usable(), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  require(allocation->base == address_of(host) && allocation->kind == MemoryKind::registered);
  call.release(*allocation, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_host_memory = {
    entries_with_result<kNeeds32BitAddresses, "cuMemAllocHost_v2000", "cuMemHostGetDevicePointer_v2020">,
    entry<"cuMemAllocHost", allocate>,
    entry<"cuMemHostAlloc", allocate_with_flags>,
    entry<"cuMemFreeHost", free>,
    entry<"cuMemHostGetDevicePointer", get_device_pointer>,
    entry<"cuMemHostGetFlags", get_flags>,
    entry<"cuMemHostRegister", add>,
    entry<"cuMemHostUnregister", remove>,
};

}  // namespace cushim::sim
