// SPDX-License-Identifier: Apache-2.0
// Copying and setting memory: copy(to, from), fill(to, value); with a stream as last argument in its
// order, else done (as the driver means it) when the call returns. Element types and sizes must
// agree; sizes that differ are refused before the driver sees them.
#pragma once

#include <cushim/memory.hpp>

#include <bit>
#include <memory>

namespace cushim {
inline namespace v1 {

namespace detail {

// The host's side of a copy whose element type the device's side decides: any contiguous range.
template <class T>
using HostRange = std::type_identity_t<std::span<T>>;

inline void check_sizes(std::size_t to, std::size_t from, const char *routine, Where where) {
  if (to != from) [[unlikely]]
    fail(CUDA_ERROR_INVALID_VALUE, routine, where,
         Argument{"elements to copy to", static_cast<long long>(to)},
         Argument{"elements to copy from", static_cast<long long>(from)}, Remark{"sizes differ"});
}

inline Argument bytes_argument(std::size_t bytes) { return {"bytes", static_cast<long long>(bytes)}; }

template <class T>
inline constexpr bool is_fillable = std::is_trivially_copyable_v<T> &&
                                    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4);

// The bits of a value of 1, 2 or 4 bytes, as the driver's call for that width takes them.
template <class T>
auto bits_of(const T &value) noexcept {
  if constexpr (sizeof(T) == 1)
    return std::bit_cast<unsigned char>(value);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<unsigned short>(value);
  else
    return std::bit_cast<unsigned>(value);
}

// What a type that is, or derives from, a span of rows or slices is a span of.
template <class T>
HostSpan2D<T> rows_of(const HostSpan2D<T> &span) {
  return span;
}
template <class T>
DeviceSpan2D<T> rows_of(const DeviceSpan2D<T> &span) {
  return span;
}
template <class T>
HostSpan3D<T> slices_of(const HostSpan3D<T> &span) {
  return span;
}
template <class T>
DeviceSpan3D<T> slices_of(const DeviceSpan3D<T> &span) {
  return span;
}

// The element type of such a span, and where it is.
template <class Span>
using ElementOf = typename std::pointer_traits<decltype(Span::data)>::element_type;
template <class Span>
inline constexpr bool is_on_host = std::is_pointer_v<decltype(Span::data)>;

// Two spans of one element type, of which at least one is on the device.
template <class To, class From>
concept Copyable = std::is_same_v<ElementOf<To>, std::remove_const_t<ElementOf<From>>> &&
    std::is_trivially_copyable_v<ElementOf<To>> && !(is_on_host<To> && is_on_host<From>);
template <class To, class From>
concept Rows = requires(const To &to, const From &from) {
  requires Copyable<decltype(rows_of(to)), decltype(rows_of(from))>;
};
template <class To, class From>
concept Slices = requires(const To &to, const From &from) {
  requires Copyable<decltype(slices_of(to)), decltype(slices_of(from))>;
};

// The driver's description of a 2D or 3D copy, as far as both have it.
template <class Description, class To, class From>
Description describe(const To &to, const From &from, const char *routine, Where where) {
  check_sizes(to.width, from.width, routine, where);
  check_sizes(to.height, from.height, routine, where);
  Description description{};
  if constexpr (is_on_host<From>) {
    description.srcMemoryType = CU_MEMORYTYPE_HOST;
    description.srcHost = from.data;
  } else {
    description.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    description.srcDevice = from.data.address();
  }
  if constexpr (is_on_host<To>) {
    description.dstMemoryType = CU_MEMORYTYPE_HOST;
    description.dstHost = to.data;
  } else {
    description.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    description.dstDevice = to.data.address();
  }
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

}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

// ---- From the host to the device ---------------------------------------------------------------

// Driver calls: cuMemcpyHtoD.
template <class T>
requires(!std::is_const_v<T> && std::is_trivially_copyable_v<T>) void copy(DeviceSpan<T> to,
                                                                           detail::HostRange<const T> from,
                                                                           Driver &driver = cushim::driver(),
                                                                           Where where = Where::current()) {
  detail::check_sizes(to.size(), from.size(), "cuMemcpyHtoD", where);
  detail::check(driver.cuMemcpyHtoD(to.data().address(), from.data(), from.size_bytes()), "cuMemcpyHtoD",
                where, detail::Through{&driver}, detail::Address{"to", to.data().address()},
                detail::bytes_argument(from.size_bytes()));
}
// Host memory that is not pinned is read before this returns. Driver calls: cuMemcpyHtoDAsync.
template <class T>
requires(!std::is_const_v<T> &&
         std::is_trivially_copyable_v<T>) void copy(DeviceSpan<T> to, detail::HostRange<const T> from,
                                                    const StreamRef &stream, Where where = Where::current()) {
  detail::check_sizes(to.size(), from.size(), "cuMemcpyHtoDAsync", where);
  detail::check(
      stream.driver().cuMemcpyHtoDAsync(to.data().address(), from.data(), from.size_bytes(), stream.handle()),
      "cuMemcpyHtoDAsync", where, stream, detail::Address{"to", to.data().address()},
      detail::bytes_argument(from.size_bytes()));
}

// ---- From the device to the host ---------------------------------------------------------------

// Driver calls: cuMemcpyDtoH.
template <class T>
requires std::is_trivially_copyable_v<T>
void copy(detail::HostRange<std::remove_const_t<T>> to, DeviceSpan<T> from, Driver &driver = cushim::driver(),
          Where where = Where::current()) {
  detail::check_sizes(to.size(), from.size(), "cuMemcpyDtoH", where);
  detail::check(driver.cuMemcpyDtoH(to.data(), from.data().address(), from.size_bytes()), "cuMemcpyDtoH",
                where, detail::Through{&driver}, detail::Address{"from", from.data().address()},
                detail::bytes_argument(from.size_bytes()));
}
// Driver calls: cuMemcpyDtoHAsync.
template <class T>
requires std::is_trivially_copyable_v<T>
void copy(detail::HostRange<std::remove_const_t<T>> to, DeviceSpan<T> from, const StreamRef &stream,
          Where where = Where::current()) {
  detail::check_sizes(to.size(), from.size(), "cuMemcpyDtoHAsync", where);
  detail::check(
      stream.driver().cuMemcpyDtoHAsync(to.data(), from.data().address(), from.size_bytes(), stream.handle()),
      "cuMemcpyDtoHAsync", where, stream, detail::Address{"from", from.data().address()},
      detail::bytes_argument(from.size_bytes()));
}

// ---- From device to device ---------------------------------------------------------------------

// Also between devices. Driver calls: cuMemcpyDtoD.
template <class T, class U>
requires(std::is_same_v<T, std::remove_const_t<U>> &&std::is_trivially_copyable_v<T>) void copy(
    DeviceSpan<T> to, DeviceSpan<U> from, Driver &driver = cushim::driver(), Where where = Where::current()) {
  detail::check_sizes(to.size(), from.size(), "cuMemcpyDtoD", where);
  detail::check(driver.cuMemcpyDtoD(to.data().address(), from.data().address(), from.size_bytes()),
                "cuMemcpyDtoD", where, detail::Through{&driver}, detail::Address{"to", to.data().address()},
                detail::Address{"from", from.data().address()}, detail::bytes_argument(from.size_bytes()));
}
// Driver calls: cuMemcpyDtoDAsync.
template <class T, class U>
requires(std::is_same_v<T, std::remove_const_t<U>> &&std::is_trivially_copyable_v<T>) void copy(
    DeviceSpan<T> to, DeviceSpan<U> from, const StreamRef &stream, Where where = Where::current()) {
  detail::check_sizes(to.size(), from.size(), "cuMemcpyDtoDAsync", where);
  detail::check(stream.driver().cuMemcpyDtoDAsync(to.data().address(), from.data().address(),
                                                  from.size_bytes(), stream.handle()),
                "cuMemcpyDtoDAsync", where, stream, detail::Address{"to", to.data().address()},
                detail::Address{"from", from.data().address()}, detail::bytes_argument(from.size_bytes()));
}

// ---- Rows and slices ---------------------------------------------------------------------------
// Any two of HostSpan2D and DeviceSpan2D, or HostSpan3D and DeviceSpan3D, but not both on the host.

// Driver calls: cuMemcpy2D.
template <class To, class From>
requires detail::Rows<To, From>
void copy(const To &to, const From &from, Driver &driver = cushim::driver(), Where where = Where::current()) {
  const auto copy =
      detail::describe<CUDA_MEMCPY2D>(detail::rows_of(to), detail::rows_of(from), "cuMemcpy2D", where);
  detail::check(driver.cuMemcpy2D(&copy), "cuMemcpy2D", where, detail::Through{&driver});
}
// Driver calls: cuMemcpy2DAsync.
template <class To, class From>
requires detail::Rows<To, From>
void copy(const To &to, const From &from, const StreamRef &stream, Where where = Where::current()) {
  const auto copy =
      detail::describe<CUDA_MEMCPY2D>(detail::rows_of(to), detail::rows_of(from), "cuMemcpy2DAsync", where);
  detail::check(stream.driver().cuMemcpy2DAsync(&copy, stream.handle()), "cuMemcpy2DAsync", where, stream);
}
// Driver calls: cuMemcpy3D.
template <class To, class From>
requires detail::Slices<To, From>
void copy(const To &to, const From &from, Driver &driver = cushim::driver(), Where where = Where::current()) {
  const auto copy =
      detail::describe_slices(detail::slices_of(to), detail::slices_of(from), "cuMemcpy3D", where);
  detail::check(driver.cuMemcpy3D(&copy), "cuMemcpy3D", where, detail::Through{&driver});
}
// Driver calls: cuMemcpy3DAsync.
template <class To, class From>
requires detail::Slices<To, From>
void copy(const To &to, const From &from, const StreamRef &stream, Where where = Where::current()) {
  const auto copy =
      detail::describe_slices(detail::slices_of(to), detail::slices_of(from), "cuMemcpy3DAsync", where);
  detail::check(stream.driver().cuMemcpy3DAsync(&copy, stream.handle()), "cuMemcpy3DAsync", where, stream);
}

// ---- Setting -----------------------------------------------------------------------------------
// Elements of 1, 2 or 4 bytes: the driver sets no others.

// Driver calls: cuMemsetD8, cuMemsetD16 or cuMemsetD32.
template <class T>
requires(detail::is_fillable<T> &&
         !std::is_const_v<T>) void fill(DeviceSpan<T> to, std::type_identity_t<T> value,
                                        Driver &driver = cushim::driver(), Where where = Where::current()) {
  const CUdeviceptr address = to.data().address();
  const auto bits = detail::bits_of(value);
  const detail::Address words{"to", address};
  if constexpr (sizeof(T) == 1)
    detail::check(driver.cuMemsetD8(address, bits, to.size()), "cuMemsetD8", where, detail::Through{&driver},
                  words);
  else if constexpr (sizeof(T) == 2)
    detail::check(driver.cuMemsetD16(address, bits, to.size()), "cuMemsetD16", where,
                  detail::Through{&driver}, words);
  else
    detail::check(driver.cuMemsetD32(address, bits, to.size()), "cuMemsetD32", where,
                  detail::Through{&driver}, words);
}
// Driver calls: cuMemsetD8Async, cuMemsetD16Async or cuMemsetD32Async.
template <class T>
requires(detail::is_fillable<T> &&
         !std::is_const_v<T>) void fill(DeviceSpan<T> to, std::type_identity_t<T> value,
                                        const StreamRef &stream, Where where = Where::current()) {
  const CUdeviceptr address = to.data().address();
  const auto bits = detail::bits_of(value);
  const detail::Address words{"to", address};
  Driver &driver = stream.driver();
  const CUstream handle = stream.handle();
  if constexpr (sizeof(T) == 1)
    detail::check(driver.cuMemsetD8Async(address, bits, to.size(), handle), "cuMemsetD8Async", where, stream,
                  words);
  else if constexpr (sizeof(T) == 2)
    detail::check(driver.cuMemsetD16Async(address, bits, to.size(), handle), "cuMemsetD16Async", where,
                  stream, words);
  else
    detail::check(driver.cuMemsetD32Async(address, bits, to.size(), handle), "cuMemsetD32Async", where,
                  stream, words);
}
// Driver calls: cuMemsetD2D8, cuMemsetD2D16 or cuMemsetD2D32.
template <class T>
requires(detail::is_fillable<T> &&
         !std::is_const_v<T>) void fill(DeviceSpan2D<T> to, std::type_identity_t<T> value,
                                        Driver &driver = cushim::driver(), Where where = Where::current()) {
  const CUdeviceptr address = to.data.address();
  const auto bits = detail::bits_of(value);
  const detail::Address words{"to", address};
  const detail::Through through{&driver};
  if constexpr (sizeof(T) == 1)
    detail::check(driver.cuMemsetD2D8(address, to.pitch, bits, to.width, to.height), "cuMemsetD2D8", where,
                  through, words);
  else if constexpr (sizeof(T) == 2)
    detail::check(driver.cuMemsetD2D16(address, to.pitch, bits, to.width, to.height), "cuMemsetD2D16", where,
                  through, words);
  else
    detail::check(driver.cuMemsetD2D32(address, to.pitch, bits, to.width, to.height), "cuMemsetD2D32", where,
                  through, words);
}
// Driver calls: cuMemsetD2D8Async, cuMemsetD2D16Async or cuMemsetD2D32Async.
template <class T>
requires(detail::is_fillable<T> &&
         !std::is_const_v<T>) void fill(DeviceSpan2D<T> to, std::type_identity_t<T> value,
                                        const StreamRef &stream, Where where = Where::current()) {
  const CUdeviceptr address = to.data.address();
  const auto bits = detail::bits_of(value);
  const detail::Address words{"to", address};
  Driver &driver = stream.driver();
  const CUstream handle = stream.handle();
  if constexpr (sizeof(T) == 1)
    detail::check(driver.cuMemsetD2D8Async(address, to.pitch, bits, to.width, to.height, handle),
                  "cuMemsetD2D8Async", where, stream, words);
  else if constexpr (sizeof(T) == 2)
    detail::check(driver.cuMemsetD2D16Async(address, to.pitch, bits, to.width, to.height, handle),
                  "cuMemsetD2D16Async", where, stream, words);
  else
    detail::check(driver.cuMemsetD2D32Async(address, to.pitch, bits, to.width, to.height, handle),
                  "cuMemsetD2D32Async", where, stream, words);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
