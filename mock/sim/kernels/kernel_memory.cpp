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
  if (allocation == nullptr) {
    if (!system_.memory.is_mapped_for_kernel(*context_.device, address, bytes)) return {};
    return {system_.memory.bytes_to_read(address, bytes), bytes, 0};
  }
  if (!reaches(context_, *allocation)) return {};
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
  std::byte *const host = system_.memory.bytes_to_read(first, last - first);
  return {host + (address - first), last - address, address - first};
}

std::vector<std::byte *> KernelMemory::multicast(std::uint64_t address, std::uint64_t bytes,
                                                 ptx::Access access) {
  const std::lock_guard lock(system_.mutex);
  const Allocation *const allocation = system_.memory.find(address);
  if (allocation == nullptr || !allocation->is_multicast()) return {};
  const CUmemAccess_flags flags = allocation->mapping->access_of(context_.device);
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return {};
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ && access != ptx::Access::read) return {};
  if (record_ != nullptr) record_->add(address, address + bytes, access != ptx::Access::read);
  std::vector<std::byte *> places;
  for (Multicast::Copy &copy : system_.memory.multicast(address, bytes)) {
    if (copy.size != bytes) return {};  // extends over several bindings
    places.push_back(copy.bytes);
    multicast_.insert(std::move(copy.owner));
  }
  return places;
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

// Returns the descriptor of an object of this context, also of a destroyed one; null if there is none.
const TextureSource *KernelMemory::texture_source(std::uint64_t handle) const {
  const auto *const object = system_.handles.find<TextureObject>(reinterpret_cast<const void *>(handle));
  if (object != nullptr && object->context == &context_) return &object->source;
  return context_.ended_textures.find(handle);
}
const CUDA_RESOURCE_DESC *KernelMemory::surface_source(std::uint64_t handle) const {
  const auto *const object = system_.handles.find<SurfaceObject>(reinterpret_cast<const void *>(handle));
  if (object != nullptr && object->context == &context_) return &object->resource;
  return context_.ended_surfaces.find(handle);
}

namespace {

// Returns the descriptor of a handle, which make() makes at its first use; null if there is none.
template <class Descriptors, class Make>
auto find_or_make(Descriptors &all, std::uint64_t handle, Make make) {
  const auto [known, is_new] = all.try_emplace(handle);
  if (is_new) known->second = make();
  return known->second ? &*known->second : nullptr;
}

}  // namespace

// Textures and surfaces have descriptors of one kind: instructions of either take handles of both. Measured
// on an H200, driver 580.
const ptx::Texture *KernelMemory::texture(std::uint64_t handle) {
  const std::lock_guard lock(system_.mutex);
  return find_or_make(textures_, handle, [&]() -> std::optional<ptx::Texture> {
    if (const auto reference = references_.textures.find(handle); reference != references_.textures.end())
      return texture_of(system_, context_, reference->second);
    if (const TextureSource *const source = texture_source(handle))
      return texture_of(system_, context_, *source);
    if (const CUDA_RESOURCE_DESC *const resource = surface_source(handle))
      return texture_of(system_, context_, {*resource, {}, {}});
    return std::nullopt;
  });
}

const ptx::Surface *KernelMemory::surface(std::uint64_t handle) {
  const std::lock_guard lock(system_.mutex);
  return find_or_make(surfaces_, handle, [&]() -> std::optional<ptx::Surface> {
    if (const auto reference = references_.surfaces.find(handle); reference != references_.surfaces.end())
      return surface_of(system_, context_, reference->second);
    const CUDA_RESOURCE_DESC *resource = surface_source(handle);
    if (const TextureSource *const source = texture_source(handle);
        resource == nullptr && source != nullptr && source->resource.resType == CU_RESOURCE_TYPE_ARRAY)
      resource = &source->resource;
    return resource != nullptr ? surface_of(system_, context_, resource->res.array.hArray) : std::nullopt;
  });
}

bool KernelMemory::is_unwritten(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(system_.mutex);
  return system_.memory.is_unwritten(address, bytes);
}

void KernelMemory::note_written(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(system_.mutex);
  system_.memory.note_written(address, bytes);
}

bool KernelMemory::set_conditional(std::uint64_t handle, std::uint32_t value) {
  return sim::set_conditional(system_, context_, handle, value);
}

}  // namespace cushim::sim
