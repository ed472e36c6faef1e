// SPDX-License-Identifier: Apache-2.0
// Describes the arguments of copy() and fill(): kind of memory, dimensions and elements.
#pragma once

#include <cushim/memory.hpp>

#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace cushim {
inline namespace v1 {
namespace detail {

enum class RangeKind { device, page_locked, pageable };

template <RangeKind which, int rank, class T>
struct Description {
  static constexpr RangeKind kind = which;
  static constexpr int dimensions = rank;
  using Element = T;
};

// Describes a view that view_of() below returns.
template <class View>
struct Described;
template <class T>
struct Described<DeviceSpan<T>> : Description<RangeKind::device, 1, T> {};
template <class T>
struct Described<PinnedSpan<T>> : Description<RangeKind::page_locked, 1, T> {};
template <class T>
struct Described<std::span<T>> : Description<RangeKind::pageable, 1, T> {};
template <class T>
struct Described<DeviceSpan2D<T>> : Description<RangeKind::device, 2, T> {};
template <class T>
struct Described<PinnedSpan2D<T>> : Description<RangeKind::page_locked, 2, T> {};
template <class T>
struct Described<HostSpan2D<T>> : Description<RangeKind::pageable, 2, T> {};
template <class T>
struct Described<DeviceSpan3D<T>> : Description<RangeKind::device, 3, T> {};
template <class T>
struct Described<PinnedSpan3D<T>> : Description<RangeKind::page_locked, 3, T> {};
template <class T>
struct Described<HostSpan3D<T>> : Description<RangeKind::pageable, 3, T> {};

// The result of view_of() for an argument that is not a range.
struct NoView {};
template <>
struct Described<NoView> : Description<RangeKind::pageable, 0, void> {};

template <class T>
DeviceSpan<T> own_view(const ManagedBuffer<T> &buffer) {
  return buffer.device_span();
}
template <class Self, class View, class Kind>
View own_view(const Buffer<Self, View, Kind> &buffer) {
  return buffer.span();
}
template <class T>
DeviceSpan<T> own_view(const StreamBuffer<T> &buffer) {
  return buffer.span();
}

// Returns the view of a range: one of the non-owning types above. Managed memory is device memory here.
template <class Range>
auto view_of(Range &range) {
  using Plain = std::remove_const_t<Range>;
  if constexpr (requires { own_view(range); })
    return own_view(range);
  else if constexpr (requires { Described<Plain>::dimensions; })
    return Plain(range);
  else if constexpr (std::ranges::contiguous_range<Range &> && std::ranges::sized_range<Range &>)
    return std::span(std::ranges::data(range), std::ranges::size(range));
  else
    return NoView();
}
template <class Range>
using ViewOf = decltype(view_of(std::declval<std::remove_reference_t<Range> &>()));
template <class Range>
using Describe = Described<ViewOf<Range>>;
template <class Range>
using ElementOf = typename Describe<Range>::Element;

template <class Range>
inline constexpr bool is_range = Describe<Range>::dimensions != 0;
template <class Range>
inline constexpr bool is_pointer = std::is_pointer_v<std::remove_cvref_t<Range>> ||
                                   std::is_same_v<std::remove_cvref_t<Range>, std::nullptr_t>;
template <class Range>
inline constexpr bool is_on_device = Describe<Range>::kind == RangeKind::device;
template <class Range>
inline constexpr bool is_pageable = Describe<Range>::kind == RangeKind::pageable;
// True for a temporary host range: it dies with the statement, so a copy to it could not be read.
template <class To>
inline constexpr bool is_lost =
    is_pageable<To> && !std::is_lvalue_reference_v<To> && Describe<To>::dimensions == 1 &&
    !std::ranges::enable_borrowed_range<std::remove_cvref_t<To>>;

}  // namespace detail
}  // namespace v1
}  // namespace cushim
