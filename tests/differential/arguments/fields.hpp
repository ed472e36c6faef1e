// SPDX-License-Identifier: Apache-2.0
// The fields of structures that calls take, so that a case can change one of them.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

namespace arguments {

enum class FieldKind { number, enumerator, real, address, pointer };

struct Field {
  std::string name;
  std::size_t offset = 0;
  std::size_t size = 0;
  FieldKind kind = FieldKind::number;
  bool is_signed = false;
};
using Fields = std::vector<Field>;

// Returns the kind of a field of type T.
template <class T>
constexpr FieldKind field_kind() {
  if constexpr (std::is_pointer_v<T>)
    return FieldKind::pointer;
  else if constexpr (std::is_enum_v<T>)
    return FieldKind::enumerator;
  else if constexpr (std::is_floating_point_v<T>)
    return FieldKind::real;
  else
    return FieldKind::number;
}

// Returns the fields of the structure; empty if none are known. Fields of structures in it are named
// "location.type". Unions have no fields: see the tables below.
template <class T>
const Fields &fields_of();

// CUDA_RESOURCE_DESC by its resType.
const Fields &array_resource_fields();
const Fields &mipmapped_resource_fields();
const Fields &linear_resource_fields();
const Fields &pitched_resource_fields();
// CUstreamBatchMemOpParams.
const Fields &write_value_fields();
const Fields &wait_value_fields();

namespace detail {
// Returns the fields of the structure that typeid(T).name() names.
const Fields &fields_of(const char *type);
}  // namespace detail

template <class T>
const Fields &fields_of() {
  return detail::fields_of(typeid(T).name());
}

}  // namespace arguments
