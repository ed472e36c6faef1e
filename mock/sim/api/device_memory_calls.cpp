// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/service.hpp"
#include "copy/copy_endpoint.hpp"
#include "graphs/capturing.hpp"
#include "graphs/graph_memory.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kPitch = 512;  // measured on an H200

CUresult allocate(Call &call, CUdeviceptr *out, std::size_t size) {
  Context &context = call.context();
  require(out != nullptr);
  require(size != 0);
  Allocation *const made = call.allocate(*context.device, size, Memory::owner_of(context));
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
  *out = made->base;
  return CUDA_SUCCESS;
}

CUresult allocate_pitched(Call &call, CUdeviceptr *out, std::size_t *pitch, std::size_t width,
                          std::size_t height, unsigned element) {
  if (pitch != nullptr) *pitch = 0;  // as driver 580 does, also on failure
  refuse_in_host_function(call);
  call.context();
  require(out != nullptr && pitch != nullptr);
  require(element == 4 || element == 8 || element == 16);
  require(width != 0 && height != 0);
  require(width <= SIZE_MAX - kPitch);
  const std::size_t row = rounded_up(width, kPitch);
  *pitch = row;  // also if a capture forbids the call, or the memory does not suffice
  require_no_strict_capture(call);
  require(height <= SIZE_MAX / row, CUDA_ERROR_OUT_OF_MEMORY);
  return allocate(call, out, row * height);
}

// Waits for the work that may use the memory.
CUresult free(Call &call, CUdeviceptr address) {
  call.require_no_destroyed_context();
  if (address == 0) return CUDA_SUCCESS;
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->base == address &&
          (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::managed ||
           allocation->pool != nullptr) &&
          allocation->is_usable() && (allocation->imported == nullptr || allocation->pool != nullptr) &&
          (allocation->mapping == nullptr || allocation->mapping->is_external) && !allocation->is_of_module);
  if (allocation->context != nullptr) require_no_fault(*allocation->context);
  if (GraphMemory *const memory = allocation->graph_memory) {
    require(memory->is_allocated);
    memory->is_allocated = false;
    const std::vector<Work> users = allocation->users;  // the wait releases the lock
    call.wait(users);
    return CUDA_SUCCESS;
  }
  call.release(*allocation);
  return CUDA_SUCCESS;
}

// A failure sets the results to zero; a call without results succeeds for any address. Measured on an H200,
// driver 580.
CUresult get_range(Call &call, CUdeviceptr *base, std::size_t *size, CUdeviceptr address) {
  if (base != nullptr) *base = 0;
  if (size != nullptr) *size = 0;
  const Context &context = call.context();
  if (base == nullptr && size == nullptr) return CUDA_SUCCESS;
  const Allocation *const allocation = call.system.memory.find(address);
  const bool is_found = allocation != nullptr && reaches(context, *allocation);
  require(is_found, CUDA_ERROR_NOT_FOUND);
  if (base != nullptr) *base = allocation->base;
  if (size != nullptr) *size = allocation->size;
  return CUDA_SUCCESS;
}

CUresult get_range_of_32_bits(Call &, unsigned *base, unsigned *size, unsigned) {
  return base == nullptr && size == nullptr ? CUDA_SUCCESS : kNeeds32BitAddresses;
}

CUresult get_info(Call &call, std::size_t *free_bytes, std::size_t *total) {
  const Device &device = *call.context().device;
  if (total != nullptr) *total = device.profile.total_memory;
  if (free_bytes != nullptr)
    *free_bytes = device.profile.total_memory - std::min(device.used, device.profile.total_memory);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_device_memory = {
    entries_with_result<kNeeds32BitAddresses, "cuMemAlloc_v2000", "cuMemFree_v2000", "cuMemGetInfo_v2000",
                        "cuMemAllocPitch_v2000">,
    entry<"cuMemAlloc", allocate>,
    entry<"cuMemAllocPitch", allocate_pitched>,
    entry<"cuMemFree", free>,
    entry<"cuMemGetAddressRange_v2000", get_range_of_32_bits>,
    entry<"cuMemGetAddressRange", get_range>,
    entry<"cuMemGetInfo", get_info>,
};

}  // namespace cushim::sim
