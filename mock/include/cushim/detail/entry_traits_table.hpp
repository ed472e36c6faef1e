// SPDX-License-Identifier: Apache-2.0
// The table of entry traits at compile time. traits_of() of entry_traits.hpp finds a row by slot.
#pragma once

#include <cushim/detail/entry_traits.hpp>

namespace cushim::mock::traits {

using enum Object;
using Field = Trait::Field;
using Lifetime = EntryTraits::Lifetime;
using Queue = EntryTraits::Queue;
using Wait = EntryTraits::Wait;
using Access = MemoryUse::Access;
using Space = MemoryUse::Space;

constexpr Trait flag(bool EntryTraits::*flag) { return {.field = Field::flag, .flag = flag}; }
inline constexpr Trait needs_context = flag(&EntryTraits::needs_context);
inline constexpr Trait works_after_fault = flag(&EntryTraits::works_after_fault);
inline constexpr Trait query = flag(&EntryTraits::is_query);
inline constexpr Trait configures = flag(&EntryTraits::configures);
inline constexpr Trait changes_current = flag(&EntryTraits::changes_current);
inline constexpr Trait allocates = flag(&EntryTraits::allocates);
inline constexpr Trait ends_capture = flag(&EntryTraits::ends_capture);
inline constexpr Trait returns_pending_errors = flag(&EntryTraits::returns_pending_errors);

constexpr Trait waits(Wait wait) { return {.field = Field::wait, .value = static_cast<std::uint8_t>(wait)}; }
inline constexpr Trait polls = waits(Wait::polls);
inline constexpr Trait may_block = waits(Wait::may_block);
inline constexpr Trait synchronizes = waits(Wait::synchronizes);

// Lifetimes: the object, and the argument that is its handle or address, or to which the call writes it.
struct LifetimeTrait {
  constexpr Trait operator()(Object object, ArgumentIndex subject) const {
    return {.field = Field::lifetime,
            .value = static_cast<std::uint8_t>(lifetime),
            .object = object,
            .first = subject};
  }
  Lifetime lifetime;
};
inline constexpr LifetimeTrait creates{Lifetime::creates}, opens{Lifetime::opens}, retains{Lifetime::retains},
    releases{Lifetime::releases}, destroys{Lifetime::destroys}, resets{Lifetime::resets};
constexpr Trait inverse(std::string_view base) { return {.field = Field::inverse, .text = base}; }
// The argument with the size of the memory.
constexpr Trait bytes(ArgumentIndex size) { return {.field = Field::bytes, .first = size}; }
// The argument to which the call writes the pitch, and the one with the number of rows.
constexpr Trait pitch_and_rows(ArgumentIndex pitch, ArgumentIndex rows) {
  return {.field = Field::bytes, .first = pitch, .second = rows};
}

inline constexpr ArgumentIndex last = kLastArgument;
constexpr Trait in(Queue queue, ArgumentIndex argument) {
  return {.field = Field::stream, .value = static_cast<std::uint8_t>(queue), .first = argument};
}
constexpr Trait enqueues(ArgumentIndex stream) { return in(Queue::stream, stream); }
constexpr Trait enqueues_by(ArgumentIndex argument) { return in(Queue::described, argument); }
inline constexpr Trait enqueues_in_null = in(Queue::null_stream, kNoArgument);

// Memory: the argument that has the address, and the one with the size in elements of 1 byte or the given
// size.
constexpr MemoryUse device(ArgumentIndex argument, ArgumentIndex size = kNoArgument,
                           std::uint8_t element = 1) {
  return {.space = Space::device, .argument = argument, .size = size, .element = element};
}
constexpr MemoryUse host(ArgumentIndex argument, ArgumentIndex size) {
  return {.space = Space::host, .argument = argument, .size = size};
}
constexpr MemoryUse any(ArgumentIndex argument, ArgumentIndex size) {
  return {.space = Space::any, .argument = argument, .size = size};
}
constexpr MemoryUse array_at(ArgumentIndex argument, ArgumentIndex size) {
  return {.space = Space::array, .argument = argument, .size = size};
}
constexpr MemoryUse rows(ArgumentIndex argument, std::uint8_t element) {
  return {.space = Space::rows, .argument = argument, .element = element};
}
constexpr MemoryUse described_2d(ArgumentIndex argument) {
  return {.space = Space::described_2d, .argument = argument};
}
constexpr MemoryUse described_3d(ArgumentIndex argument) {
  return {.space = Space::described_3d, .argument = argument};
}
constexpr MemoryUse described_3d_peer(ArgumentIndex argument) {
  return {.space = Space::described_3d_peer, .argument = argument};
}
constexpr MemoryUse list(ArgumentIndex argument) { return {.space = Space::list, .argument = argument}; }

constexpr Trait with(Access access, MemoryUse memory) {
  memory.access = access;
  return {.field = Field::memory, .memory = memory};
}
constexpr Trait names(const MemoryUse &memory) { return with(Access::names, memory); }
constexpr Trait reads(const MemoryUse &memory) { return with(Access::reads, memory); }
constexpr Trait writes(const MemoryUse &memory) { return with(Access::writes, memory); }
constexpr Trait copies(const MemoryUse &memory) { return with(Access::both, memory); }

constexpr Trait same_context(ArgumentIndex one, ArgumentIndex other) {
  return {.field = Field::same_context, .first = one, .second = other};
}

// All rows, in the order of the file.
inline constexpr EntryTraits kTable[] = {
#include <cushim/detail/entry_traits.inc>
};

// Returns the row of a base name; null if the table has none.
constexpr const EntryTraits *find(std::string_view base) noexcept {
  for (const EntryTraits &row : kTable)
    if (row.base == base) return &row;
  return nullptr;
}

}  // namespace cushim::mock::traits
