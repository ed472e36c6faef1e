// SPDX-License-Identifier: Apache-2.0
#include "objects.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include <cushim/detail/entry_traits.hpp>
#include "buffers.hpp"
#include "call_text.hpp"
#include "created_memory.hpp"

namespace cushim::replay {
namespace {

using mock::EntryTraits;

constexpr std::uint64_t kMostFreed = std::uint64_t{256} << 30;
constexpr std::uint64_t kAlignment = std::uint64_t{2} << 20;
// The first of the values that stand for a reused handle: for a later object whose recorded handle had
// identified another object before. No driver returns such values.
constexpr std::uint64_t kFirstLaterHandle = std::uint64_t{0x7c} << 56;

}  // namespace

Area::Area(std::uint64_t recorded, std::uint64_t size, bool is_accessible) {
  if (__builtin_add_overflow(size, 2 * kAlignment, &mapped_)) throw std::bad_alloc();
  mapping_ = mmap(nullptr, mapped_, is_accessible ? PROT_READ | PROT_WRITE : PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<std::uint64_t>(mapping_);
  address_ = begin + (recorded - begin) % kAlignment;
}

Area::Area(Area &&other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), mapped_(other.mapped_), address_(other.address_) {}

Area::~Area() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

void Area::close() noexcept {
  mmap(mapping_, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

Objects::Objects(const Recording &recording) {
  std::vector<const RecordedCall *> calls;
  for (const RecordedCall &call : recording.calls())
    if (call.has_ended() && call.result == CUDA_SUCCESS) calls.push_back(&call);
  std::ranges::sort(calls, {}, &RecordedCall::end);
  for (const RecordedCall *const call : calls) add(*call);
}

void Objects::add(const RecordedCall &call) {
  end_memory(call);
  add_memory(call);
  const EntryTraits &traits = mock::traits_of(call.slot);
  if (traits.lifetime != EntryTraits::Lifetime::creates || traits.subject == mock::kNoArgument) return;
  const std::size_t subject = mock::position(traits.subject, trace::row_of(call.slot).parameters.size());
  const Buffer *const buffer = buffer_of(call.slot, subject);
  const Item *const item = item_of(call.after, subject);
  if (buffer == nullptr || buffer->type == nullptr || item == nullptr) return;
  const trace::Type &type = *buffer->type;
  if (type.kind != trace::Type::Kind::handle && mock::is_memory(traits.object)) return;
  const std::string kind = type.kind == trace::Type::Kind::handle ? type.name : "";
  creations_[{kind, trace::bits_of(item->bytes)}].push_back(call.end);
}

void Objects::add_memory(const RecordedCall &call) {
  const auto created = memory_created_by(call);
  if (!created || created->address == 0) return;
  auto &all = memory_[created->address];
  const bool is_known = !all.empty() && all.back().freed > call.end && all.back().size == created->size;
  if (is_known) return;  // another reference, or a variable that was found before
  all.push_back({.base = created->address,
                 .size = created->size,
                 .is_host_accessible = created->is_host_accessible,
                 .created = call.end});
  largest_ = std::max(largest_, created->size);
}

void Objects::end_memory(const RecordedCall &call) {
  const EntryTraits &traits = mock::traits_of(call.slot);
  if (!traits.ends_lifetime() || !(mock::is_memory(traits.object))) return;
  const std::size_t subject = mock::position(traits.subject, trace::row_of(call.slot).parameters.size());
  const auto found = memory_.find(argument_of(call.slot, call.words, subject));
  if (found != memory_.end() && !found->second.empty()) found->second.back().freed = call.begin;
}

// Returns the memory that existed at the time; if there is none, the memory that was created last before it.
const Objects::Memory *Objects::memory_at(std::uint64_t recorded, std::uint64_t time) const {
  const Memory *last = nullptr;
  for (auto next = memory_.upper_bound(recorded); next != memory_.begin();) {
    --next;
    const auto &[base, all] = *next;
    if (recorded - base > largest_) break;
    const auto later = std::ranges::upper_bound(all, time, {}, &Memory::created);
    if (later == all.begin()) continue;
    const Memory &memory = *std::prev(later);
    // The address of the end is often passed as a bound.
    if (recorded - base > memory.size) continue;
    if (memory.freed >= time && recorded - base < memory.size) return &memory;
    if (last == nullptr || memory.created > last->created) last = &memory;
  }
  return last;
}

Objects::Memory *Objects::memory_at(std::uint64_t recorded, std::uint64_t time) {
  return const_cast<Memory *>(std::as_const(*this).memory_at(recorded, time));
}

bool Objects::is_in_memory(std::uint64_t recorded, std::uint64_t time) const {
  const Memory *const memory = memory_at(recorded, time);
  return memory != nullptr && recorded - memory->base < memory->size;
}

std::optional<std::uint64_t> Objects::address(std::uint64_t recorded, std::uint64_t time) {
  Memory *const memory = memory_at(recorded, time);
  if (memory == nullptr) return std::nullopt;
  if (!memory->address) {
    memory->area.emplace(memory->base, memory->size, memory->is_host_accessible);
    memory->address = memory->area->address();
  }
  return *memory->address + (recorded - memory->base);
}

bool Objects::is_host_accessible(std::uint64_t recorded, std::uint64_t time) const {
  const Memory *const memory = memory_at(recorded, time);
  return memory != nullptr && memory->is_host_accessible;
}

void Objects::set_address(std::uint64_t recorded, std::uint64_t time, std::uint64_t address) {
  if (Memory *const memory = memory_at(recorded, time)) memory->address = address;
}

void Objects::remove_memory(std::uint64_t recorded, std::uint64_t time) {
  Memory *const memory = memory_at(recorded, time);
  if (memory == nullptr || !memory->area) return;
  memory->area->close();
  freed_size_ += memory->area->size();
  freed_.push_back(std::move(*memory->area));
  memory->area.reset();
  for (; freed_size_ > kMostFreed; freed_.pop_front()) freed_size_ -= freed_.front().size();
}

std::uint64_t Objects::handle(std::string_view kind, std::uint64_t recorded, std::uint64_t time) {
  const auto found = creations_.find({std::string(kind), recorded});
  if (found == creations_.end()) return recorded;
  const auto &times = found->second;
  const auto count = static_cast<std::size_t>(std::ranges::upper_bound(times, time) - times.begin());
  if (count <= 1) return recorded;
  std::uint64_t &handle = later_handles_[{found->first, count}];
  if (handle == 0) handle = kFirstLaterHandle + 16 * later_handles_.size();
  return handle;
}

}  // namespace cushim::replay
