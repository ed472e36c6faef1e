// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdint>
#include <type_traits>

namespace cushim::check {

// The handle types whose lifetimes the checkers track. `none` is any other type, or memory.
enum class Kind : std::uint8_t { none, array, context, event, memory_pool, mipmapped_array, module, stream };

template <class T>
constexpr Kind kind_of() noexcept {
  if (std::is_same_v<T, CUarray>) return Kind::array;
  if (std::is_same_v<T, CUcontext>) return Kind::context;
  if (std::is_same_v<T, CUevent>) return Kind::event;
  if (std::is_same_v<T, CUmemoryPool>) return Kind::memory_pool;
  if (std::is_same_v<T, CUmipmappedArray>) return Kind::mipmapped_array;
  if (std::is_same_v<T, CUmodule>) return Kind::module;
  if (std::is_same_v<T, CUstream>) return Kind::stream;
  return Kind::none;
}

}  // namespace cushim::check
