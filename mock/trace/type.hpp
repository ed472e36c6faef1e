// SPDX-License-Identifier: Apache-2.0
// Descriptions of the types of arguments, by which values are copied and written as text at run time.
#pragma once

#include <cushim/mock/text.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cushim::trace {

struct Field;

struct Type {
  enum class Kind : std::uint8_t {
    address,   // CUdeviceptr; the same C++ type as other numbers of 64 bits
    batch_op,  // CUstreamBatchMemOpParams, a union
    bytes,     // anything else
    enumeration,
    handle,
    pointer,  // to host memory
    real,
    signed_number,
    structure,
    text,      // const char *
    text_out,  // char *, with its length in the next argument
    unsigned_number
  };
  Kind kind = Kind::bytes;
  std::size_t size = 0;
  const char *name = nullptr;     // of an enumeration in cuda.h; the noun of a handle
  const Type *pointee = nullptr;  // of a pointer whose target can be copied
  bool is_input = false;          // whether the pointee is const
  const std::vector<Field> *fields = nullptr;
};

struct Field {
  const char *name;
  std::size_t offset;
  const Type *type;
};

template <class T>
inline constexpr const char *enum_name = nullptr;
#define CUSHIM_ENUM(type) \
  template <>             \
  inline constexpr const char *enum_name<type> = #type;
#include "enumerators.inc"

template <class T>
inline std::vector<Field> fields_of{};

template <class T>
const Type &type_of();

template <class T>
Type make_type() {
  using Kind = Type::Kind;
  if constexpr (mock::noun_of<T> != nullptr)
    return {Kind::handle, sizeof(T), mock::noun_of<T>};
  else if constexpr (std::is_same_v<T, const char *>)
    return {Kind::text, sizeof(T)};
  else if constexpr (std::is_same_v<T, char *>)
    return {Kind::text_out, sizeof(T)};
  else if constexpr (std::is_same_v<T, CUdeviceptr>)
    return {Kind::address, sizeof(T)};
  else if constexpr (std::is_same_v<T, CUstreamBatchMemOpParams>)
    return {Kind::batch_op, sizeof(T)};
  else if constexpr (std::is_enum_v<T>)
    return {Kind::enumeration, sizeof(T), enum_name<T>};
  else if constexpr (std::is_floating_point_v<T>)
    return {Kind::real, sizeof(T)};
  else if constexpr (std::is_integral_v<T>)
    return {std::is_signed_v<T> ? Kind::signed_number : Kind::unsigned_number, sizeof(T)};
  else if constexpr (std::is_class_v<T> || std::is_union_v<T>)
    return {.kind = Kind::structure, .size = sizeof(T), .fields = &fields_of<T>};
  else if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_pointer_t<T>;
    if constexpr (requires { sizeof(Pointee); } && !std::is_function_v<Pointee> && !std::is_void_v<Pointee>)
      return {.kind = Kind::pointer,
              .size = sizeof(T),
              .pointee = &type_of<std::remove_const_t<Pointee>>(),
              .is_input = std::is_const_v<Pointee>};
    return {Kind::pointer, sizeof(T)};
  } else
    return {Kind::bytes, sizeof(T)};
}

template <class T>
const Type &type_of() {
  static const Type &type = *new Type(make_type<T>());
  return type;
}

// An entry point's parameters.
struct Parameter {
  std::string_view name;
  const Type *type = nullptr;
  std::size_t word = 0;  // index of its first word among the words of the call
};

struct Row {
  std::vector<Parameter> parameters;
  std::size_t words = 0;        // of all arguments
  std::size_t most_values = 0;  // words that the copied values take at most
  // True if a parameter points to an array. The array may be empty; then its address must not be read.
  bool has_arrays = false;
};

// Returns the parameters of an entry point; none if the CUDA headers lack its types.
const Row &row_of(int slot);

// Returns the name of an enumerator; empty if it is unknown.
std::string_view enumerator_name(std::string_view type, std::int64_t value);

// The most bytes of a text that are copied.
inline constexpr std::size_t kMostText = 120;

}  // namespace cushim::trace
