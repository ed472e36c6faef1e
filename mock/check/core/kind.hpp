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
  if (std::is_same_v<T, CUgraph>) return Kind::graph;
  if (std::is_same_v<T, CUgraphExec>) return Kind::executable_graph;
  if (std::is_same_v<T, CUmemoryPool>) return Kind::memory_pool;
  if (std::is_same_v<T, CUmipmappedArray>) return Kind::mipmapped_array;
  if (std::is_same_v<T, CUmodule>) return Kind::module;
  if (std::is_same_v<T, CUstream>) return Kind::stream;
  return Kind::none;
}

// Returns whether the handles of these objects are integers, which types do not tell from others: only the
// traits of the entry points do. They belong to no context.
constexpr bool has_integer_handle(mock::Object object) noexcept {
  return object == mock::Object::allocation_handle || object == mock::Object::address_range;
}

// Returns whether the object belongs to no context, so that it outlives the context in which it was created.
constexpr bool has_no_context(mock::Object object) noexcept {
  return object == mock::Object::mapped_memory || object == mock::Object::memory_pool ||
         object == mock::Object::graph || object == mock::Object::executable_graph ||
         has_integer_handle(object);
}

}  // namespace cushim::check
