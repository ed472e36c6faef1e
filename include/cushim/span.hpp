// SPDX-License-Identifier: Apache-2.0
// Memory ranges that own nothing: page-locked host memory, and rows and slices in host or device memory.
// DeviceSpan is in cushim/device_ptr.hpp.
#pragma once

#include <cushim/device_ptr.hpp>

#include <ranges>
#include <span>

namespace cushim {
inline namespace v1 {

namespace detail {

// The range functions of host memory, as in std::span. Self has span(), which returns any range type.
template <class Self, class T>
class HostRangeCalls {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  constexpr T *data() const noexcept { return self().span().data(); }
  constexpr std::size_t size() const noexcept { return self().span().size(); }
  constexpr std::size_t size_bytes() const noexcept { return size() * sizeof(T); }
  constexpr bool empty() const noexcept { return size() == 0; }
  constexpr T *begin() const noexcept { return data(); }
  constexpr T *end() const noexcept { return data() + size(); }
  // Requires index < size(), and a range that is not empty for front() and back(). Not checked.
  constexpr T &operator[](std::size_t index) const noexcept { return data()[index]; }
  constexpr T &front() const noexcept { return data()[0]; }
  constexpr T &back() const noexcept { return data()[size() - 1]; }

 protected:
  ~HostRangeCalls() = default;

 private:
  constexpr const Self &self() const noexcept { return static_cast<const Self &>(*this); }
};

}  // namespace detail

// A range of elements in page-locked host memory, which asynchronous copies need: a part of a PinnedBuffer or
// RegisteredBuffer, or memory that the caller has page-locked otherwise. Owns nothing.
template <class T>
class PinnedSpan : public detail::HostRangeCalls<PinnedSpan<T>, T> {
 public:
  constexpr PinnedSpan() noexcept = default;
  // Wraps memory that must be page-locked with cuMemHostAlloc or cuMemHostRegister. Not checked.
  explicit constexpr PinnedSpan(std::span<T> memory) noexcept : memory_(memory) {}
  template <class U>
  requires std::is_convertible_v<U (*)[], T (*)[]>
  constexpr PinnedSpan(PinnedSpan<U> other) noexcept : memory_(other.span()) {}

  // Returns the same memory as a std::span.
  constexpr std::span<T> span() const noexcept { return memory_; }

  // Returns count elements from offset. Throws std::out_of_range if the range is shorter.
  constexpr PinnedSpan subspan(std::size_t offset, std::size_t count) const {
    detail::check_range("PinnedSpan", offset, count, memory_.size());
    return PinnedSpan(memory_.subspan(offset, count));
  }
  // Returns the elements from offset to the end. Throws std::out_of_range if offset exceeds size().
  constexpr PinnedSpan subspan(std::size_t offset) const {
    detail::check_range("PinnedSpan", offset, 0, memory_.size());
    return PinnedSpan(memory_.subspan(offset));
  }
  // Return the first or the last count elements. Throw std::out_of_range if the range is shorter.
  constexpr PinnedSpan first(std::size_t count) const { return subspan(0, count); }
  constexpr PinnedSpan last(std::size_t count) const {
    detail::check_range("PinnedSpan", 0, count, memory_.size());
    return PinnedSpan(memory_.last(count));
  }

 private:
  std::span<T> memory_;
};

// Rows of elements in device memory. Each row begins at a multiple of the pitch. Owns nothing.
template <class T>
struct DeviceSpan2D {
  DevicePtr<T> data;
  std::size_t width;   // elements in a row
  std::size_t height;  // rows
  std::size_t pitch;   // bytes from row to row
};

// Rows of elements in host memory. Owns nothing.
template <class T>
struct HostSpan2D {
  T *data;
  std::size_t width;
  std::size_t height;
  std::size_t pitch = width * sizeof(T);
};

// Rows of elements in page-locked host memory, which asynchronous copies need. Owns nothing.
template <class T>
struct PinnedSpan2D {
  T *data;
  std::size_t width;
  std::size_t height;
  std::size_t pitch = width * sizeof(T);
};

// Slices of rows in device memory. Owns nothing.
template <class T>
struct DeviceSpan3D {
  DevicePtr<T> data;
  std::size_t width;
  std::size_t height;
  std::size_t depth;          // slices
  std::size_t pitch;          // bytes from row to row
  std::size_t rows = height;  // rows from slice to slice
};

// Slices of rows in host memory. Owns nothing.
template <class T>
struct HostSpan3D {
  T *data;
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  std::size_t pitch = width * sizeof(T);
  std::size_t rows = height;
};

// Slices of rows in page-locked host memory, which asynchronous copies need. Owns nothing.
template <class T>
struct PinnedSpan3D {
  T *data;
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  std::size_t pitch = width * sizeof(T);
  std::size_t rows = height;
};

}  // namespace v1
}  // namespace cushim

template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<cushim::PinnedSpan<T>> = true;
