// SPDX-License-Identifier: Apache-2.0
#include "objects/handle.hpp"

#include <iterator>

namespace cushim::sim {

const char *name_of(Kind kind) noexcept {
  // By number; no kind has the number 0.
  static constexpr const char *names[] = {
      "object",
      "context",
      "stream",
      "event",
      "memory pool",
      "array",
      "mipmapped array",
      "module",
      "function",
      "library",
      "kernel",
      "link",
      "physical memory",
      "graph",
      "graph node",
      "executable graph",
      "user object",
      "resource descriptor",
      "green context",
      "texture object",
      "surface object",
      "texture reference",
      "surface reference",
      "external memory",
      "external semaphore",
      "graphics resource",
  };
  static_assert(std::size(names) == static_cast<std::size_t>(kLastKind) + 1);
  return names[static_cast<std::size_t>(kind)];
}

bool Handles::was_made(const void *handle) const {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::size_t index = index_of(value);
  return value >> 44 != 0 && value >> 44 <= static_cast<std::uintptr_t>(kLastKind) && (value & 15) == 0 &&
         index < slots_.size() && generation_of(value) != 0 &&
         generation_of(value) <= slots_[index].generation;
}

std::string Handles::reason_not_found(const void *handle, Kind wanted) const {
  if (!was_made(handle)) return "was never made";
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const auto kind = static_cast<Kind>(value >> 44);
  const Slot &slot = slots_[index_of(value)];
  const bool is_last = slot.object == nullptr && slot.generation == generation_of(value);
  if (kind == wanted)
    return is_last && slot.ended_by != nullptr ? std::string("was destroyed by ") + slot.ended_by
                                               : "was destroyed";
  const bool begins_with_vowel = kind == Kind::event || kind == Kind::array ||
                                 kind == Kind::executable_graph || kind == Kind::external_memory ||
                                 kind == Kind::external_semaphore;
  return std::string(begins_with_vowel ? "is an " : "is a ") + name_of(kind);
}

}  // namespace cushim::sim
