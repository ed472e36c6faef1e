// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_memory.hpp"

#include <algorithm>

#include "copy/copy_endpoint.hpp"

namespace cushim::sim {

namespace {

// Granularity of making an allocation accessible. Untouched bytes in the window are poisoned first.
constexpr std::uint64_t kWindow = 64 << 10;

}  // namespace

ptx::Resolved KernelMemory::resolve(std::uint64_t address, std::uint64_t bytes, ptx::Access access) {
  const std::lock_guard lock(system_.mutex);
  const Allocation *const allocation = system_.memory.find_for_kernel(address, bytes);
  if (allocation == nullptr || !reaches(context_, *allocation)) return {};
  if (allocation->mapping != nullptr && access != ptx::Access::read &&
      allocation->mapping->access_of(*context_.device) != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return {};
  const std::uint64_t first = std::max<std::uint64_t>(allocation->base, address / kWindow * kWindow);
  const std::uint64_t last = std::min<std::uint64_t>(
      allocation->end(), std::max((address / kWindow + 1) * kWindow, address + bytes));
  std::byte *const host = system_.memory.bytes(first, last - first);
  return {host + (address - first), last - address, address - first};
}

std::uint64_t KernelMemory::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(system_.mutex);
  const auto heap = context_.limits.find(CU_LIMIT_MALLOC_HEAP_SIZE);
  if (bytes == 0 || heap == context_.limits.end() ||
      bytes > heap->second - std::min(heap->second, context_.heap_used))
    return 0;
  Allocation *const made = system_.memory.allocate(*context_.device, bytes);
  if (made == nullptr) return 0;
  made->context = &context_;
  made->is_of_module = true;  // cuMemFree must not free it
  context_.heap_used += made->size;
  return made->base;
}

void KernelMemory::release(std::uint64_t address) {
  const std::lock_guard lock(system_.mutex);
  Allocation *const allocation = system_.memory.find(address);
  if (allocation == nullptr || allocation->base != address || !allocation->is_of_module) return;
  context_.heap_used -= std::min(context_.heap_used, allocation->size);
  system_.memory.release(*allocation);
}

}  // namespace cushim::sim
