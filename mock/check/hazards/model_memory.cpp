// SPDX-License-Identifier: Apache-2.0
// The memory of the hazard model: allocations, their ends, and addresses that stand for the same bytes.
#include "hazards/hazard_model.hpp"

#include <algorithm>

namespace cushim::check {

const HazardModel::Memory *HazardModel::memory_at(std::uint64_t address) const {
  auto next = memory_.upper_bound(address);
  if (next == memory_.begin()) return nullptr;
  const Memory &memory = std::prev(next)->second;
  return address < memory.end ? &memory : nullptr;
}

bool HazardModel::is_device(std::uint64_t address) const {
  const Memory *const memory = memory_at(address);
  return memory != nullptr && memory->kind == MemoryKind::device;
}

std::uint64_t HazardModel::at_host(std::uint64_t address) const {
  if (also_at_.empty()) return address;
  const auto next = also_at_.upper_bound(address);
  if (next == also_at_.begin()) return address;
  const auto &[begin, where] = *std::prev(next);
  return address < where.first ? where.second + (address - begin) : address;
}

std::uint64_t HazardModel::known_size(std::uint64_t address) const {
  const Memory *const memory = memory_at(address);
  return memory != nullptr ? memory->end - address : 0;
}

void HazardModel::copy_memory_to(HazardModel &other, std::uint64_t given) const {
  const std::uint64_t address = at_host(given);
  if (memory_at(address) == nullptr || other.memory_at(address) != nullptr) return;
  const auto &[begin, memory] = *std::prev(memory_.upper_bound(address));
  other.memory_made(begin, memory.end - begin, memory.kind, nullptr);
}

void HazardModel::memory_made(std::uint64_t begin, std::uint64_t size, MemoryKind kind, ContextKey context) {
  touched_.forget({begin, begin + size});
  launches_.erase(begin);
  memory_[begin] = {.end = begin + size, .kind = kind, .context = context, .changed_by = {}};
}

void HazardModel::memory_made_in_order(std::uint64_t begin, std::uint64_t size, const StreamRef &stream,
                                       Access access) {
  const StreamIndex stream_index = names_.stream_index(stream);
  access.epoch = order_.submit(stream_index);
  access.stream = names_.number(stream_index);
  access.kind = Access::Kind::allocation;
  memory_made(begin, size, MemoryKind::device, order_.context(stream_index));
  if (captures_ == 0) use(access, {.extent = Extent::of(begin, size), .kind = access.kind});
}

// Keeps the description of freed memory until the address is reused, for later accesses to it.
void HazardModel::memory_freed_in_order(std::uint64_t begin, const StreamRef &stream, Access access) {
  const Memory *const memory = memory_at(begin);
  const std::uint64_t size = memory == nullptr ? 0 : memory->end - begin;
  access.kind = Access::Kind::free;
  const Use whole{.extent = Extent::of(begin, size), .kind = access.kind};
  work(stream, access, std::span(&whole, 1), Host::goes_on);
}

void HazardModel::before_memory_freed(std::uint64_t begin) {
  if (const Memory *const memory = memory_at(begin)) drop_sources(begin, memory->end);
}

void HazardModel::memory_goes_with(ContextKey context) {
  for (const auto &[begin, memory] : memory_)
    if (memory.context == context) drop_sources(begin, memory.end);
}

void HazardModel::memory_freed(std::uint64_t begin) {
  const auto found = memory_.find(begin);
  if (found == memory_.end()) return;
  const std::uint64_t end = found->second.end;
  touched_.forget({begin, end});
  launches_.erase(begin);
  words_.erase(words_.lower_bound(begin), words_.lower_bound(end));
  const auto gone = also_at_of_.lower_bound(begin), gone_end = also_at_of_.lower_bound(end);
  for (auto also = gone; also != gone_end; ++also) also_at_.erase(also->second);
  also_at_of_.erase(gone, gone_end);
  const auto own = also_at_.lower_bound(begin), own_end = also_at_.lower_bound(end);
  for (auto also = own; also != own_end; ++also) forget_also_at(also->first, also->second.second);
  also_at_.erase(own, own_end);
  if (const auto parts = physical_.find(found->second.physical); parts != physical_.end()) {
    const std::uint64_t last = found->second.offset + (end - begin);
    for (auto part = parts->second.lower_bound(found->second.offset);
         part != parts->second.end() && part->first < last;) {
      const bool is_here = part->second.address >= begin && part->second.address < end;
      part = is_here ? parts->second.erase(part) : std::next(part);
    }
    if (parts->second.empty()) physical_.erase(parts);
  }
  memory_.erase(found);
}

void HazardModel::forget_also_at(std::uint64_t address, std::uint64_t stands_for_it) {
  const auto [first, last] = also_at_of_.equal_range(stands_for_it);
  for (auto also = first; also != last; ++also)
    if (also->second == address) return static_cast<void>(also_at_of_.erase(also));
}

void HazardModel::add_also_at(ByteRange range, std::uint64_t stands_for_it) {
  also_at_[range.begin] = {range.end, stands_for_it};
  also_at_of_.emplace(stands_for_it, range.begin);
}

void HazardModel::map_host_memory(std::uint64_t device, std::uint64_t host) {
  if (device == host) return;
  if (const Memory *const memory = memory_at(host))
    add_also_at({device, device + (memory->end - host)}, host);
}

void HazardModel::memory_mapped(const Mapping &mapping, ContextKey context) {
  memory_made(mapping.begin, mapping.size, MemoryKind::device, context);
  Memory &memory = memory_[mapping.begin];
  memory.physical = mapping.physical;
  memory.offset = mapping.offset;
  MappedParts &parts = physical_[mapping.physical];
  const std::uint64_t end = mapping.offset + mapping.size;
  const auto address_of = [&](std::uint64_t offset) { return mapping.begin + (offset - mapping.offset); };
  auto part = parts.upper_bound(mapping.offset);
  if (part != parts.begin() && std::prev(part)->second.end > mapping.offset) --part;
  for (std::uint64_t at = mapping.offset; at < end;) {
    const bool is_mapped = part != parts.end() && part->first <= at;
    const std::uint64_t next = part == parts.end() ? end : is_mapped ? part->second.end : part->first;
    const std::uint64_t to = std::min(end, next);
    if (is_mapped)
      add_also_at({address_of(at), address_of(to)}, part->second.address + (at - part->first)), ++part;
    else
      parts.emplace_hint(part, at, MappedPart{to, address_of(at)});
    at = to;
  }
}

void HazardModel::memory_unmapped(ByteRange range) {
  for (auto next = memory_.lower_bound(range.begin); next != memory_.end() && next->first < range.end;
       next = memory_.lower_bound(range.begin))
    memory_freed(next->first);
}

}  // namespace cushim::check
