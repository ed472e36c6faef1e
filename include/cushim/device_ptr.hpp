// SPDX-License-Identifier: Apache-2.0
// Device addresses and ranges. Typed like pointers and std::span, but dereferencing one in host code does not
// compile.
#pragma once

#include <cushim/detail/reference.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace cushim {
inline namespace v1 {

// A device address of elements of type T. Owns nothing.
template <class T>
class DevicePtr {
 public:
  using element_type = T;

  constexpr DevicePtr() noexcept = default;
  explicit constexpr DevicePtr(CUdeviceptr address) noexcept : address_(address) {}
  // Converts as pointers do: adds const implicitly.
  template <class U>
  requires std::is_convertible_v<U (*)[], T (*)[]>
  constexpr DevicePtr(DevicePtr<U> other) noexcept : address_(other.address()) {}

  // Returns the raw address.
  constexpr CUdeviceptr address() const noexcept { return address_; }
  explicit constexpr operator bool() const noexcept { return address_ != 0; }

  constexpr DevicePtr operator+(std::ptrdiff_t elements) const noexcept {
    return DevicePtr(address_ + static_cast<CUdeviceptr>(elements) * sizeof(T));
  }
  constexpr DevicePtr operator-(std::ptrdiff_t elements) const noexcept { return *this + -elements; }
  friend constexpr std::ptrdiff_t operator-(DevicePtr left, DevicePtr right) noexcept {
    return static_cast<std::ptrdiff_t>(left.address_ - right.address_) /
           static_cast<std::ptrdiff_t>(sizeof(T));
  }
  friend constexpr auto operator<=>(DevicePtr, DevicePtr) = default;

 private:
  CUdeviceptr address_ = 0;
};

namespace detail {

// Throws std::out_of_range: count elements from offset do not fit in a range of size elements.
[[noreturn]] inline void fail_range(const char *range, std::size_t offset, std::size_t count,
                                    std::size_t size) {
  throw std::out_of_range("cushim: " + std::to_string(count) + " elements from " + std::to_string(offset) +
                          " on are asked of a " + range + " of " + std::to_string(size));
}
constexpr void check_range(const char *range, std::size_t offset, std::size_t count, std::size_t size) {
  if (offset > size || count > size - offset) fail_range(range, offset, count, size);
}

}  // namespace detail

// A range of elements in memory that the device can access. Owns nothing.
template <class T>
class DeviceSpan {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  constexpr DeviceSpan() noexcept = default;
  constexpr DeviceSpan(DevicePtr<T> data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <class U>
  requires std::is_convertible_v<U (*)[], T (*)[]>
  constexpr DeviceSpan(DeviceSpan<U> other) noexcept : data_(other.data()), size_(other.size()) {}

  constexpr DevicePtr<T> data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  constexpr bool empty() const noexcept { return size_ == 0; }

  // Returns the address of one element. index may be size().
  constexpr DevicePtr<T> operator[](std::size_t index) const noexcept {
    return data_ + static_cast<std::ptrdiff_t>(index);
  }
  // Returns count elements from offset. Throws std::out_of_range if the range is shorter.
  constexpr DeviceSpan subspan(std::size_t offset, std::size_t count) const {
    detail::check_range("DeviceSpan", offset, count, size_);
    return {(*this)[offset], count};
  }
  // Returns the elements from offset to the end. Throws std::out_of_range if offset exceeds size().
  constexpr DeviceSpan subspan(std::size_t offset) const {
    detail::check_range("DeviceSpan", offset, 0, size_);
    return {(*this)[offset], size_ - offset};
  }
  // Return the first or the last count elements. Throw std::out_of_range if the range is shorter.
  constexpr DeviceSpan first(std::size_t count) const { return subspan(0, count); }
  constexpr DeviceSpan last(std::size_t count) const {
    detail::check_range("DeviceSpan", 0, count, size_);
    return {(*this)[size_ - count], count};
  }

  // Returns the same bytes as elements of U, const if T is const. Throws std::invalid_argument if the size is
  // not a multiple of sizeof(U), or the address is not aligned for U.
  template <class U>
  constexpr auto reinterpret() const {
    using Element = std::conditional_t<std::is_const_v<T>, const U, U>;
    if (size_bytes() % sizeof(U) != 0)
      throw std::invalid_argument("cushim: " + std::to_string(size_bytes()) +
                                  " bytes are not a whole number of elements of " +
                                  std::to_string(sizeof(U)));
    if (data_.address() % alignof(U) != 0)
      throw std::invalid_argument("cushim: the address is not a multiple of the alignment " +
                                  std::to_string(alignof(U)));
    return DeviceSpan<Element>(DevicePtr<Element>(data_.address()), size_bytes() / sizeof(U));
  }

  // Returns whether both ranges have the same address and size.
  friend constexpr bool operator==(const DeviceSpan &, const DeviceSpan &) = default;

 private:
  DevicePtr<T> data_;
  std::size_t size_ = 0;
};

// Returns the range as bytes, like std::as_bytes for host memory.
template <class T>
constexpr DeviceSpan<const std::byte> as_bytes(DeviceSpan<T> span) noexcept {
  return {DevicePtr<const std::byte>(span.data().address()), span.size_bytes()};
}
template <class T>
requires(!std::is_const_v<T>) constexpr DeviceSpan<std::byte> as_writable_bytes(DeviceSpan<T> span) noexcept {
  return {DevicePtr<std::byte>(span.data().address()), span.size_bytes()};
}

}  // namespace v1
}  // namespace cushim

template <class T>
struct std::hash<cushim::DevicePtr<T>> {
  std::size_t operator()(cushim::DevicePtr<T> pointer) const noexcept {
    return std::hash<CUdeviceptr>()(pointer.address());
  }
};
