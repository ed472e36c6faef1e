// SPDX-License-Identifier: Apache-2.0
#include "handle.hpp"

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
  }
  return "object";
}

const char *Handles::why_not(const void *handle, Kind wanted) const {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const auto kind = static_cast<Kind>(value >> 40);
  const auto serial = (value & ((std::uintptr_t{1} << 40) - 1)) >> 4;
  const bool is_ours = value >> 40 != 0 &&
                       value >> 40 <= static_cast<std::uintptr_t>(Kind::mipmapped_array) &&
                       (value & 15) == 0 && serial != 0 && serial <= last_;
  if (!is_ours) return "was never made";
  if (kind == wanted) return "was destroyed";
  switch (kind) {
    case Kind::context:
      return "is a context";
    case Kind::stream:
      return "is a stream";
    case Kind::event:
      return "is an event";
    case Kind::pool:
      return "is a memory pool";
    case Kind::array:
      return "is an array";
    case Kind::mipmapped_array:
      return "is a mipmapped array";
  }
  return "was never made";
}

}  // namespace cushim::sim
