// SPDX-License-Identifier: Apache-2.0
// Physical memory that is mapped into reserved ranges.
#include "memory/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cushim::sim {

Allocation *Memory::map(CUdeviceptr address, const ReservedRange &range,
                        std::shared_ptr<PhysicalMemory> physical) {
  auto node = make_node();
  Allocation &made = *node.mapped();
  std::byte *const bytes = range.bytes_at(address);
  made.mapping = std::make_unique<VirtualMapping>();
  if (physical->bytes != nullptr && !physical->bytes->map(bytes)) return nullptr;
  made.base = address;
  made.size = physical->size();
  made.device = physical->device;
  made.kind = made.device != nullptr ? MemoryKind::device : MemoryKind::pinned;
  made.mapping->physical = std::move(physical);
  made.mapping->number = NumberHold(numbers_);
  made.mapping->range = &range;
  made.mapping->bytes = bytes;
  note_mapping(made, &made);
  return &add(std::move(node));
}

Allocation *Memory::map_external(std::shared_ptr<PhysicalMemory> physical, std::size_t offset,
                                 std::size_t size) {
  const ReservedRange *const range = reserved.reserve(physical->size(), kGranularity, 0);
  if (range == nullptr) return errno = ENOMEM, nullptr;
  Allocation *const made = map(range->base, *range, std::move(physical));
  if (made == nullptr) return reserved.free(*range), nullptr;
  // Becomes an allocation of the part only.
  note_mapping(*made, nullptr);
  auto node = allocations_.extract(made->base);
  made->base += offset;
  made->size = size;
  made->mapping->bytes += offset;
  made->mapping->offset = offset;
  made->mapping->is_external = true;
  made->mapping->access.emplace_back(made->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  node.key() = made->base;
  allocations_.insert(std::move(node));
  note_mapping(*made, made);
  return made;
}

void Memory::note_mapping(const Allocation &mapping, Allocation *found) {
  ReservedRange &range = *reserved.find(mapping.base);
  const std::size_t before = (mapping.base - range.base) % kGranularity;
  for (CUdeviceptr at = mapping.base - before; at < mapping.end(); at += kGranularity)
    range.mapping_at(at) = found;
}

std::vector<Multicast::Copy> Memory::multicast(CUdeviceptr address, std::size_t size) {
  const Allocation *const allocation = find(address);
  if (allocation == nullptr || !allocation->is_multicast() || size > allocation->end() - address) return {};
  return allocation->mapping->physical->multicast->copies(address - allocation->base, size);
}

std::byte *Memory::bytes_of_mapping(Allocation &first, CUdeviceptr address, std::size_t size) {
  for_each_in(first, address, size, [&](const Allocation &part) {
    const VirtualMapping &mapping = *part.mapping;
    const CUdeviceptr from = std::max(address, part.base), to = std::min(address + size, part.end());
    const std::size_t skipped = from - part.base;
    if (part.kind == MemoryKind::device)
      mapping.physical->bytes->touch(mapping.offset + skipped, to - from, mapping.bytes + skipped);
  });
  return first.mapping->bytes + (address - first.base);
}

}  // namespace cushim::sim
