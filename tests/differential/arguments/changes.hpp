// SPDX-License-Identifier: Apache-2.0
// Values that cases pass instead of the unchanged argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "objects.hpp"

namespace arguments {

struct Change {
  std::string name;  // "bytesize=0"
  // Writes the value to the argument, or to the structure that it points to.
  std::function<void(Objects &, void *argument)> apply;

  // Returns what is changed: "bytesize".
  std::string_view field() const { return std::string_view(name).substr(0, name.find('=')); }
};
using Changes = std::vector<Change>;

// True for an argument that is a structure, whose fields are changed. A: its type in the declaration. B: the
// type of the unchanged argument.
template <class A, class B>
inline constexpr bool is_structure = std::is_class_v<A>;
template <class A, class T>
inline constexpr bool is_structure<A, In<T>> = true;

namespace detail {

void add_null(const std::string &name, Changes &to);
void add_texts(const std::string &name, Changes &to);
void add_streams(const std::string &name, Changes &to);
void add_fields(const std::string &name, const Fields &fields, std::size_t part, Changes &to);
void add_fields_by_value(const std::string &name, const Fields &fields, Changes &to);
void add_enumerators(const std::string &name, std::size_t size, Changes &to);
void add_integers(const std::string &name, std::size_t size, bool is_signed, Changes &to);
void add_sizes(const std::string &name, Changes &to);
void add_reals(const std::string &name, std::size_t size, Changes &to);
// Adds the numbers from 0 up to but not including `end`.
void add_counts(const std::string &name, std::size_t size, unsigned end, Changes &to);
void add_in_out(const std::string &name, std::size_t size, Changes &to);
// Add the changes of arguments whose own type says what they are.
void add_own(const Address &, const std::string &name, Changes &to);
void add_own(const HostMemory &, const std::string &name, Changes &to);
void add_own(const SmallSize &, const std::string &name, Changes &to);
void add_own(const Grid &, const std::string &name, Changes &to);

}  // namespace detail

// Adds the changes of an argument. A is its type in the declaration; `base` is the unchanged argument.

template <class A, class B>
void add_changes(const std::string &name, const B &base, Changes &to) {
  if constexpr (requires { detail::add_own(base, name, to); })
    detail::add_own(base, name, to);
  else if constexpr (std::is_same_v<A, CUstream>)
    detail::add_streams(name, to);
  else if constexpr (std::is_same_v<A, const char *>)
    detail::add_texts(name, to);
  else if constexpr (std::is_same_v<B, std::nullptr_t>)
    return;
  else if constexpr (std::is_pointer_v<A>)
    detail::add_null(name, to);
  else if constexpr (std::is_enum_v<A>)
    detail::add_enumerators(name, sizeof(A), to);
  else if constexpr (std::is_floating_point_v<A>)
    detail::add_reals(name, sizeof(A), to);
  else if constexpr (std::is_same_v<A, std::size_t>)
    detail::add_sizes(name, to);
  else if constexpr (std::is_integral_v<A>)
    detail::add_integers(name, sizeof(A), std::is_signed_v<A>, to);
  else
    detail::add_fields_by_value(name, fields_of<A>(), to);
}
template <class A, class T>
void add_changes(const std::string &name, const Out<T> &, Changes &to) {
  detail::add_null(name, to);
}
template <class A, class T>
void add_changes(const std::string &name, const InOut<T> &, Changes &to) {
  detail::add_null(name, to);
  detail::add_in_out(name, sizeof(T), to);
}
template <class A, class T>
void add_changes(const std::string &name, const In<T> &base, Changes &to) {
  detail::add_null(name, to);
  const auto part = static_cast<const char *>(base.part) - reinterpret_cast<const char *>(base.value);
  detail::add_fields(name, *base.fields, static_cast<std::size_t>(part), to);
}
template <class A, class T>
void add_changes(const std::string &name, const List<T> &, Changes &to) {
  detail::add_null(name, to);
}
template <class A>
void add_changes(const std::string &name, const Count &base, Changes &to) {
  detail::add_counts(name, sizeof(A), base.value, to);
}
template <class A>
void add_changes(const std::string &name, const Handle &, Changes &to) {
  detail::add_counts(name, sizeof(A), 1, to);
}
template <class A, class T>
void add_changes(const std::string &, const Fixed<T> &, Changes &) {}

// Returns the argument that a call gets.

template <class A, class B>
A argument(const B &base) {
  return (A)base;  // NOLINT: enumerations, handles and numbers alike
}
template <class A, class T>
A argument(const Out<T> &base) {
  return reinterpret_cast<A>(base.place);
}
template <class A, class T>
A argument(const InOut<T> &base) {
  return reinterpret_cast<A>(base.place);
}
template <class A, class T>
A argument(const In<T> &base) {
  return (A)base.value;
}
template <class A, class T>
A argument(const List<T> &base) {
  return (A)base.first;
}
template <class A>
A argument(const Address &base) {
  return (A)base.value;
}
template <class A>
A argument(const HostMemory &base) {
  return (A)base.value;
}
template <class A>
A argument(const Count &base) {
  return static_cast<A>(base.value);
}
template <class A>
A argument(const Handle &base) {
  return base.value;
}
template <class A>
A argument(const SmallSize &base) {
  return base.value;
}
template <class A>
A argument(const Grid &base) {
  return static_cast<A>(base.value);
}
template <class A, class T>
A argument(const Fixed<T> &base) {
  return (A)base.value;
}

}  // namespace arguments
