// SPDX-License-Identifier: Apache-2.0
// The checks and driver calls of copy().
#pragma once

#include <cushim/detail/range.hpp>

namespace cushim {
inline namespace v1 {
namespace detail {

// Fails to compile with one message if From cannot be copied to To; else returns true.
template <class To, class From>
constexpr bool check_copyable() {
  constexpr bool no_pointers = !is_pointer<To> && !is_pointer<From>;
  static_assert(
      no_pointers,
      "cushim: copy() takes ranges, and a pointer has no size: write std::span(&x, 1) for the host, "
      "DeviceSpan(DevicePtr<T>(address), 1) for the device");
  constexpr bool ranges = no_pointers && is_range<To> && is_range<From>;
  static_assert(
      !no_pointers || ranges,
      "cushim: copy() takes contiguous ranges: spans and buffers of cushim, std::span, std::vector, "
      "std::array, arrays");
  constexpr bool same_shape = ranges && Describe<To>::dimensions == Describe<From>::dimensions;
  static_assert(
      !ranges || same_shape,
      "cushim: copy() takes two ranges of as many dimensions: describe the host's rows by HostSpan2D "
      "or PinnedSpan2D, its slices by HostSpan3D or PinnedSpan3D");
  constexpr bool writable = same_shape && !std::is_const_v<ElementOf<To>>;
  static_assert(!same_shape || writable, "cushim: copy() cannot write to const elements");
  constexpr bool same_elements =
      writable && std::is_same_v<ElementOf<To>, std::remove_const_t<ElementOf<From>>>;
  static_assert(
      !writable || same_elements,
      "cushim: copy() takes two ranges of one element type; reinterpret<U>() changes that of a DeviceSpan");
  constexpr bool trivial = same_elements && std::is_trivially_copyable_v<ElementOf<To>>;
  static_assert(!same_elements || trivial, "cushim: copy() takes trivially copyable elements");
  constexpr bool with_device = trivial && (is_on_device<To> || is_on_device<From>);
  static_assert(
      !trivial || with_device,
      "cushim: copy() needs device or managed memory on one side: copy within the host by std::copy");
  constexpr bool kept = with_device && !is_lost<To>;
  static_assert(!with_device || kept, "cushim: copy() to a temporary: what is copied would be lost");
  return kept;
}

// As above, for copies in a stream, which must not wait for pageable memory.
template <class To, class From>
constexpr bool check_asynchronous() {
  static_assert(
      !is_pageable<To> && !is_pageable<From>,
      "cushim: copy() in a stream takes page-locked memory: PinnedBuffer, RegisteredBuffer, PinnedSpan; "
      "of pageable memory use copy_pageable(), which waits");
  return !is_pageable<To> && !is_pageable<From>;
}

inline void check_sizes(std::size_t to, std::size_t from, const char *routine, Where where) {
  if (to != from) [[unlikely]]
    fail(CUDA_ERROR_INVALID_VALUE, routine, where,
         Argument{"elements to copy to", static_cast<long long>(to)},
         Argument{"elements to copy from", static_cast<long long>(from)}, Remark{"sizes differ"});
}

inline Argument bytes_argument(std::size_t bytes) { return {"bytes", static_cast<long long>(bytes)}; }

// Fills the fields that say where one end of a copy is.
template <class View, class Host>
void describe_end(const View &view, CUmemorytype &type, Host *&host, CUdeviceptr &device) {
  if constexpr (is_on_device<View>) {
    type = CU_MEMORYTYPE_DEVICE;
    device = view.data.address();
  } else {
    type = CU_MEMORYTYPE_HOST;
    host = view.data;
  }
}

// Fills the fields that CUDA_MEMCPY2D and CUDA_MEMCPY3D have in common.
template <class Driver2D3D, class To, class From>
Driver2D3D describe(const To &to, const From &from, const char *routine, Where where) {
  check_sizes(to.width, from.width, routine, where);
  check_sizes(to.height, from.height, routine, where);
  Driver2D3D description{};
  describe_end(from, description.srcMemoryType, description.srcHost, description.srcDevice);
  describe_end(to, description.dstMemoryType, description.dstHost, description.dstDevice);
  description.srcPitch = from.pitch;
  description.dstPitch = to.pitch;
  description.WidthInBytes = from.width * sizeof(ElementOf<From>);
  description.Height = from.height;
  return description;
}

template <class To, class From>
CUDA_MEMCPY3D describe_slices(const To &to, const From &from, const char *routine, Where where) {
  check_sizes(to.depth, from.depth, routine, where);
  auto description = describe<CUDA_MEMCPY3D>(to, from, routine, where);
  description.srcHeight = from.rows;
  description.dstHeight = to.rows;
  description.Depth = from.depth;
  return description;
}

inline namespace CUSHIM_DEFAULT_STREAM {

// Copies between views that check_copyable() accepts.
template <class To, class From>
void copy_views(const To &to, const From &from, Driver &driver, Where where) {
  const Through through{&driver};
  if constexpr (Described<To>::dimensions == 2) {
    const auto copy = describe<CUDA_MEMCPY2D>(to, from, "cuMemcpy2D", where);
    check(driver.cuMemcpy2D(&copy), "cuMemcpy2D", where, through);
  } else if constexpr (Described<To>::dimensions == 3) {
    const auto copy = describe_slices(to, from, "cuMemcpy3D", where);
    check(driver.cuMemcpy3D(&copy), "cuMemcpy3D", where, through);
  } else if constexpr (!is_on_device<From>) {
    check_sizes(to.size(), from.size(), "cuMemcpyHtoD", where);
    check(driver.cuMemcpyHtoD(to.data().address(), from.data(), from.size_bytes()), "cuMemcpyHtoD", where,
          through, Address{"to", to.data().address()}, bytes_argument(from.size_bytes()));
  } else if constexpr (!is_on_device<To>) {
    check_sizes(to.size(), from.size(), "cuMemcpyDtoH", where);
    check(driver.cuMemcpyDtoH(to.data(), from.data().address(), from.size_bytes()), "cuMemcpyDtoH", where,
          through, Address{"from", from.data().address()}, bytes_argument(from.size_bytes()));
  } else {
    check_sizes(to.size(), from.size(), "cuMemcpyDtoD", where);
    check(driver.cuMemcpyDtoD(to.data().address(), from.data().address(), from.size_bytes()), "cuMemcpyDtoD",
          where, through, Address{"to", to.data().address()}, Address{"from", from.data().address()},
          bytes_argument(from.size_bytes()));
  }
}

template <class To, class From>
void copy_views(const To &to, const From &from, const StreamRef &stream, Where where) {
  Driver &driver = stream.driver();
  if constexpr (Described<To>::dimensions == 2) {
    const auto copy = describe<CUDA_MEMCPY2D>(to, from, "cuMemcpy2DAsync", where);
    check(driver.cuMemcpy2DAsync(&copy, stream.handle()), "cuMemcpy2DAsync", where, stream);
  } else if constexpr (Described<To>::dimensions == 3) {
    const auto copy = describe_slices(to, from, "cuMemcpy3DAsync", where);
    check(driver.cuMemcpy3DAsync(&copy, stream.handle()), "cuMemcpy3DAsync", where, stream);
  } else if constexpr (!is_on_device<From>) {
    check_sizes(to.size(), from.size(), "cuMemcpyHtoDAsync", where);
    check(driver.cuMemcpyHtoDAsync(to.data().address(), from.data(), from.size_bytes(), stream.handle()),
          "cuMemcpyHtoDAsync", where, stream, Address{"to", to.data().address()},
          bytes_argument(from.size_bytes()));
  } else if constexpr (!is_on_device<To>) {
    check_sizes(to.size(), from.size(), "cuMemcpyDtoHAsync", where);
    check(driver.cuMemcpyDtoHAsync(to.data(), from.data().address(), from.size_bytes(), stream.handle()),
          "cuMemcpyDtoHAsync", where, stream, Address{"from", from.data().address()},
          bytes_argument(from.size_bytes()));
  } else {
    check_sizes(to.size(), from.size(), "cuMemcpyDtoDAsync", where);
    check(driver.cuMemcpyDtoDAsync(to.data().address(), from.data().address(), from.size_bytes(),
                                   stream.handle()),
          "cuMemcpyDtoDAsync", where, stream, Address{"to", to.data().address()},
          Address{"from", from.data().address()}, bytes_argument(from.size_bytes()));
  }
}

}  // namespace CUSHIM_DEFAULT_STREAM

}  // namespace detail
}  // namespace v1
}  // namespace cushim
