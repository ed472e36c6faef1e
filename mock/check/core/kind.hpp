// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <type_traits>

#include <cushim/detail/entry_traits.hpp>

namespace cushim::check {

// The handle types whose lifetimes the checkers track are those of kind_of(). `none` is any other type, or
// memory.
using Kind = mock::Object;

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
