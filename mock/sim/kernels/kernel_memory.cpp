// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_memory.hpp"

#include <algorithm>

#include "copy/copy_endpoint.hpp"
#include "graphs/condition.hpp"

namespace cushim::sim {

namespace {

// Granularity of making an allocation accessible. Untouched bytes in the window are poisoned first.
constexpr std::uint64_t kWindow = 64 << 10;
// The same while accesses are recorded, in allocations of more than kLarge bytes: smaller windows would be
// slower.
constexpr std::uint64_t kRecordedWindow = 512, kLarge = 64 << 10;

}  // namespace

ptx::Resolved KernelMemory::resolve(std::uint64_t address, std::uint64_t bytes, ptx::Access access) {
  const std::lock_guard lock(system_.mutex);
  const Allocation *const allocation = system_.memory.find_for_kernel(address, bytes);
  if (allocation == nullptr || !reaches(context_, *allocation)) return {};
  if (allocation->mapping != nullptr && access != ptx::Access::read &&
      allocation->mapping->access_of(context_.device) != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return {};
  const std::uint64_t window = record_ == nullptr          ? kWindow
                               : allocation->size > kLarge ? kRecordedWindow
                                                           : mock::KernelRecord::kGranule;
  const std::uint64_t first = std::max<std::uint64_t>(allocation->base, address / window * window);
  const std::uint64_t last =
      std::min<std::uint64_t>(allocation->end(), std::max((address / window + 1) * window, address + bytes));
  if (record_ != nullptr) record_->add(first, last, access != ptx::Access::read);
  std::byte *const host = system_.memory.bytes(first, last - first);
  return {host + (address - first), last - address, address - first};
}

std::optional<std::span<std::byte>> reachable_memory(System &system, Context &context, CUdeviceptr address) {
  const std::lock_guard lock(system.mutex);
  const Allocation *allocation = system.memory.find_for_kernel(address, 1);
  if (allocation == nullptr) allocation = system.memory.find_for_kernel(address - 1, 1);
  if (allocation == nullptr || !reaches(context, *allocation)) return std::nullopt;
  const std::span bytes(system.memory.bytes(allocation->base, allocation->size), allocation->size);
  return bytes.subspan(address - allocation->base);
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

const ptx::Texture *KernelMemory::texture(std::uint64_t handle) {
  const std::lock_guard lock(system_.mutex);
  const auto [known, is_new] = textures_.try_emplace(handle);
  if (is_new) {
    const auto reference = references_.textures.find(handle);
    const auto *const object = system_.handles.find<TextureObject>(reinterpret_cast<const void *>(handle));
    if (reference != references_.textures.end())
      known->second = texture_of(system_, context_, reference->second);
    else if (object != nullptr && object->context == &context_)
      known->second = texture_of(system_, context_, object->source);
  }
  return known->second ? &*known->second : nullptr;
}

const ptx::Surface *KernelMemory::surface(std::uint64_t handle) {
  const std::lock_guard lock(system_.mutex);
  const auto [known, is_new] = surfaces_.try_emplace(handle);
  if (is_new) {
    const auto reference = references_.surfaces.find(handle);
    const auto *const object = system_.handles.find<SurfaceObject>(reinterpret_cast<const void *>(handle));
    if (reference != references_.surfaces.end())
      known->second = surface_of(system_, context_, reference->second);
    else if (object != nullptr && object->context == &context_)
      known->second = surface_of(system_, context_, object->resource.res.array.hArray);
  }
  return known->second ? &*known->second : nullptr;
}

bool KernelMemory::set_conditional(std::uint64_t handle, std::uint32_t value) {
  return sim::set_conditional(system_, context_, handle, value);
}

}  // namespace cushim::sim
