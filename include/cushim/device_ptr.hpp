// SPDX-License-Identifier: Apache-2.0
// Addresses and ranges of memory that the device sees. Typed like pointers and std::span, but the
// host cannot reach through them: that does not compile.
#pragma once

#include <cushim/detail/reference.hpp>

#include <cstddef>
#include <type_traits>

namespace cushim {
inline namespace v1 {

// A device address of elements of T. Owns nothing.
template <class T>
class DevicePtr {
 public:
  using element_type = T;

  constexpr DevicePtr() noexcept = default;
  explicit constexpr DevicePtr(CUdeviceptr address) noexcept : address_(address) {}
  // As pointers do: const is added by itself.
  template <class U>
  requires std::is_convertible_v<U (*)[], T (*)[]>
  constexpr DevicePtr(DevicePtr<U> other) noexcept : address_(other.address()) {}

  // The raw address.
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

// A range of elements in memory that the device sees. Owns nothing.
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

  // The address of one element; index may be size().
  constexpr DevicePtr<T> operator[](std::size_t index) const noexcept {
    return data_ + static_cast<std::ptrdiff_t>(index);
  }
  // count elements from offset on; both must be within.
  constexpr DeviceSpan subspan(std::size_t offset, std::size_t count) const noexcept {
    return {(*this)[offset], count};
  }
  constexpr DeviceSpan first(std::size_t count) const noexcept { return subspan(0, count); }

 private:
  DevicePtr<T> data_;
  std::size_t size_ = 0;
};

}  // namespace v1
}  // namespace cushim

template <class T>
struct std::hash<cushim::DevicePtr<T>> {
  std::size_t operator()(cushim::DevicePtr<T> pointer) const noexcept {
    return std::hash<CUdeviceptr>()(pointer.address());
  }
};
