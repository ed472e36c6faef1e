// SPDX-License-Identifier: Apache-2.0
#include "objects/handle.hpp"

namespace cushim::sim {

const char *name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::context:
      return "context";
    case Kind::stream:
      return "stream";
    case Kind::event:
      return "event";
    case Kind::pool:
      return "memory pool";
    case Kind::array:
      return "array";
    case Kind::mipmapped_array:
      return "mipmapped array";
    case Kind::module:
      return "module";
    case Kind::function:
      return "function";
    case Kind::library:
      return "library";
    case Kind::kernel:
      return "kernel";
    case Kind::link:
      return "link";
    case Kind::physical_memory:
      return "physical memory";
    case Kind::graph:
      return "graph";
    case Kind::graph_node:
      return "graph node";
    case Kind::executable_graph:
      return "executable graph";
    case Kind::user_object:
      return "user object";
    case Kind::resource_descriptor:
      return "resource descriptor";
    case Kind::green_context:
      return "green context";
    case Kind::texture:
      return "texture object";
    case Kind::surface:
      return "surface object";
    case Kind::texture_reference:
      return "texture reference";
    case Kind::surface_reference:
      return "surface reference";
    case Kind::external_memory:
      return "external memory";
    case Kind::external_semaphore:
      return "external semaphore";
    case Kind::graphics_resource:
      return "graphics resource";
  }
  return "object";
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
