// SPDX-License-Identifier: Apache-2.0
// The checks and driver calls of fill().
#pragma once

#include <cushim/detail/range.hpp>

#include <bit>
#include <cstring>
#include <memory>

namespace cushim {
inline namespace v1 {
namespace detail {

// Stands for the element type of a range without one, so that check_fillable() reports the error.
struct AnyValue {
  template <class T>
  constexpr AnyValue(const T &) noexcept {}
};
template <class To>
using ValueFor = std::conditional_t<is_range<To>, std::remove_const_t<ElementOf<To>>, AnyValue>;

template <class T>
inline constexpr bool is_fillable = std::is_trivially_copyable_v<T> &&
                                    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
template <>
inline constexpr bool is_fillable<void> = false;

// Fails to compile with one message if To cannot be set; else returns true.
template <class To>
constexpr bool check_fillable() {
  constexpr bool range = is_range<To>;
  static_assert(range, "cushim: fill() takes a range: a DeviceSpan, a buffer, rows or slices of the device");
  constexpr bool reached = range && !is_pageable<To> && (is_on_device<To> || Describe<To>::dimensions == 1);
  static_assert(!range || reached,
                "cushim: fill() sets memory that the device reaches: set pageable memory by std::fill");
  constexpr bool writable = reached && !std::is_const_v<ElementOf<To>>;
  static_assert(!reached || writable, "cushim: fill() cannot write to const elements");
  constexpr bool width = writable && is_fillable<std::remove_const_t<ElementOf<To>>>;
  static_assert(!writable || width, "cushim: fill() takes trivially copyable elements of 1, 2, 4 or 8 bytes");
  return width;
}

// Returns the bits of a value of 1, 2 or 4 bytes, as the driver's call for that width takes them.
template <class T>
auto bits_of(const T &value) noexcept {
  if constexpr (sizeof(T) == 1)
    return std::bit_cast<unsigned char>(value);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<unsigned short>(value);
  else
    return std::bit_cast<unsigned>(value);
}

inline namespace CUSHIM_DEFAULT_STREAM {

// The driver's memset calls: synchronous if Order is Through, in stream order if Order is StreamRef.
template <class Order>
class Setter {
 public:
  Setter(const Order &order, Where where) : order_(order), where_(where) {}

  // Sets count elements of 1, 2 or 4 bytes.
  void set(CUdeviceptr to, unsigned char bits, std::size_t count) const {
    call(NamedCall{"cuMemsetD8", &Driver::cuMemsetD8}, NamedCall{"cuMemsetD8Async", &Driver::cuMemsetD8Async},
         to, bits, count);
  }
  void set(CUdeviceptr to, unsigned short bits, std::size_t count) const {
    call(NamedCall{"cuMemsetD16", &Driver::cuMemsetD16},
         NamedCall{"cuMemsetD16Async", &Driver::cuMemsetD16Async}, to, bits, count);
  }
  void set(CUdeviceptr to, unsigned bits, std::size_t count) const {
    call(NamedCall{"cuMemsetD32", &Driver::cuMemsetD32},
         NamedCall{"cuMemsetD32Async", &Driver::cuMemsetD32Async}, to, bits, count);
  }

  // Sets height rows of width elements of 1, 2 or 4 bytes.
  void set(CUdeviceptr to, std::size_t pitch, unsigned char bits, std::size_t width,
           std::size_t height) const {
    call(NamedCall{"cuMemsetD2D8", &Driver::cuMemsetD2D8},
         NamedCall{"cuMemsetD2D8Async", &Driver::cuMemsetD2D8Async}, to, pitch, bits, width, height);
  }
  void set(CUdeviceptr to, std::size_t pitch, unsigned short bits, std::size_t width,
           std::size_t height) const {
    call(NamedCall{"cuMemsetD2D16", &Driver::cuMemsetD2D16},
         NamedCall{"cuMemsetD2D16Async", &Driver::cuMemsetD2D16Async}, to, pitch, bits, width, height);
  }
  void set(CUdeviceptr to, std::size_t pitch, unsigned bits, std::size_t width, std::size_t height) const {
    call(NamedCall{"cuMemsetD2D32", &Driver::cuMemsetD2D32},
         NamedCall{"cuMemsetD2D32Async", &Driver::cuMemsetD2D32Async}, to, pitch, bits, width, height);
  }

  // Sets elements of 8 bytes, for which the driver has no call: as 4-byte words if both halves are equal;
  // else first all lower halves, then all upper halves, as 4-byte columns of rows with a pitch of 8 bytes.
  template <class T>
  void fill(CUdeviceptr to, const T &value, std::size_t count) const {
    if constexpr (sizeof(T) != 8) {
      set(to, bits_of(value), count);
    } else {
      const Halves halves = halves_of(value);
      if (halves.first == halves.second) return set(to, halves.first, 2 * count);
      set(to, 8, halves.first, 1, count);
      set(to + 4, 8, halves.second, 1, count);
    }
  }
  template <class T>
  void fill(CUdeviceptr to, std::size_t pitch, const T &value, std::size_t width, std::size_t height) const {
    if constexpr (sizeof(T) != 8) {
      set(to, pitch, bits_of(value), width, height);
    } else {
      const Halves halves = halves_of(value);
      if (halves.first == halves.second) return set(to, pitch, halves.first, 2 * width, height);
      for (std::size_t row = 0; row < height; ++row) fill(to + row * pitch, value, width);
    }
  }

 private:
  static constexpr bool is_in_order = std::is_same_v<Order, StreamRef>;

  struct Halves {
    unsigned first, second;
  };
  template <class T>
  static Halves halves_of(const T &value) noexcept {
    return std::bit_cast<Halves>(value);
  }

  Driver &driver() const noexcept { return order_.driver(); }
  // Makes one of two calls: the second one, in stream order, if Order is StreamRef.
  template <class Now, class InOrder, class... Arguments>
  void call(Now now, InOrder in_order, CUdeviceptr to, Arguments... arguments) const {
    if constexpr (is_in_order)
      check(in_order(driver(), to, arguments..., order_.handle()), in_order.name, where_, order_,
            Address{"to", to});
    else
      check(now(driver(), to, arguments...), now.name, where_, order_, Address{"to", to});
  }

  Order order_;
  Where where_;
};

template <class Order, class View, class T>
void fill_view(const Order &order, const View &to, const T &value, Where where) {
  const Setter<Order> setter(order, where);
  if constexpr (Described<View>::dimensions == 1) {
    if constexpr (is_on_device<View>)
      setter.fill(to.data().address(), value, to.size());
    else
      fill_view(order, pinned_device_span(to, order.driver(), where), value, where);
  } else if constexpr (Described<View>::dimensions == 2) {
    setter.fill(to.data.address(), to.pitch, value, to.width, to.height);
  } else if (to.rows == to.height) {
    setter.fill(to.data.address(), to.pitch, value, to.width, to.height * to.depth);
  } else {
    for (std::size_t slice = 0; slice < to.depth; ++slice)
      setter.fill(to.data.address() + slice * to.rows * to.pitch, to.pitch, value, to.width, to.height);
  }
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail
}  // namespace v1
}  // namespace cushim
