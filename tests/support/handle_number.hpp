// SPDX-License-Identifier: Apache-2.0
// Handles of any type as numbers: some types of handles are pointers, others are numbers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace cushim::test {

template <class Handle>
std::uint64_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uint64_t>(handle);
  else
    return handle;
}
template <class Handle>
Handle handle_of(std::uint64_t number) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(number);
  else
    return static_cast<Handle>(number);
}

}  // namespace cushim::test
