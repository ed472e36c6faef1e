// SPDX-License-Identifier: Apache-2.0
// Copies and sets memory. copy(to, from) and fill(to, value) return when the operation is done, in the sense
// in which the driver documents each call as synchronous. copy(to, from, stream) and fill(to, value, stream)
// run in stream order and return at once. They accept page-locked host memory only; copy_pageable(to, from,
// stream) accepts any host memory, and waits for it.
//
// Ranges are DeviceSpan, PinnedSpan, the owners in cushim/memory.hpp, any contiguous host range, and rows and
// slices (cushim/span.hpp). Different element types do not compile. Different sizes throw INVALID_VALUE
// without a driver call.
#pragma once

#include <cushim/memory.hpp>

#include <bit>
#include <cstring>
#include <memory>

namespace cushim {
inline namespace v1 {

namespace detail {

// ---- Classification of ranges ------------------------------------------------------------------

enum class MemoryPlace { device, page_locked, pageable };

template <MemoryPlace where, int rank, class T>
struct Description {
  static constexpr MemoryPlace place = where;
  static constexpr int dimensions = rank;
  using Element = T;
};

// Describes a view that view_of() below returns.
template <class View>
struct Described;
template <class T>
struct Described<DeviceSpan<T>> : Description<MemoryPlace::device, 1, T> {};
template <class T>
struct Described<PinnedSpan<T>> : Description<MemoryPlace::page_locked, 1, T> {};
template <class T>
struct Described<std::span<T>> : Description<MemoryPlace::pageable, 1, T> {};
template <class T>
struct Described<DeviceSpan2D<T>> : Description<MemoryPlace::device, 2, T> {};
template <class T>
struct Described<PinnedSpan2D<T>> : Description<MemoryPlace::page_locked, 2, T> {};
template <class T>
struct Described<HostSpan2D<T>> : Description<MemoryPlace::pageable, 2, T> {};
template <class T>
struct Described<DeviceSpan3D<T>> : Description<MemoryPlace::device, 3, T> {};
template <class T>
struct Described<PinnedSpan3D<T>> : Description<MemoryPlace::page_locked, 3, T> {};
template <class T>
struct Described<HostSpan3D<T>> : Description<MemoryPlace::pageable, 3, T> {};

// The result of view_of() for an argument that is not a range.
struct NoView {};
template <>
struct Described<NoView> : Description<MemoryPlace::pageable, 0, void> {};

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
inline constexpr bool is_on_device = Describe<Range>::place == MemoryPlace::device;
template <class Range>
inline constexpr bool is_pageable = Describe<Range>::place == MemoryPlace::pageable;
// True for a temporary host range: it dies with the statement, so a copy to it could not be read.
template <class To>
inline constexpr bool is_lost =
    is_pageable<To> && !std::is_lvalue_reference_v<To> && Describe<To>::dimensions == 1 &&
    !std::ranges::enable_borrowed_range<std::remove_cvref_t<To>>;

// ---- Compile-time checks of copies -------------------------------------------------------------

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
  constexpr bool page_locked = !is_pageable<To> && !is_pageable<From>;
  static_assert(
      page_locked,
      "cushim: copy() in a stream takes page-locked memory: PinnedBuffer, RegisteredBuffer, PinnedSpan; "
      "of pageable memory use copy_pageable(), which waits");
  return page_locked;
}

inline void check_sizes(std::size_t to, std::size_t from, const char *routine, Where where) {
  if (to != from) [[unlikely]]
    fail(CUDA_ERROR_INVALID_VALUE, routine, where,
         Argument{"elements to copy to", static_cast<long long>(to)},
         Argument{"elements to copy from", static_cast<long long>(from)}, Remark{"sizes differ"});
}

inline Argument bytes_argument(std::size_t bytes) { return {"bytes", static_cast<long long>(bytes)}; }

// Fills the fields that CUDA_MEMCPY2D and CUDA_MEMCPY3D have in common.
template <class Driver2D3D, class To, class From>
Driver2D3D describe(const To &to, const From &from, const char *routine, Where where) {
  check_sizes(to.width, from.width, routine, where);
  check_sizes(to.height, from.height, routine, where);
  Driver2D3D description{};
  if constexpr (!is_on_device<From>) {
    description.srcMemoryType = CU_MEMORYTYPE_HOST;
    description.srcHost = from.data;
  } else {
    description.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    description.srcDevice = from.data.address();
  }
  if constexpr (!is_on_device<To>) {
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

// ---- Setting memory ----------------------------------------------------------------------------

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
    if constexpr (is_in_order)
      done(driver().cuMemsetD8Async(to, bits, count, order_.handle()), "cuMemsetD8Async", to);
    else
      done(driver().cuMemsetD8(to, bits, count), "cuMemsetD8", to);
  }
  void set(CUdeviceptr to, unsigned short bits, std::size_t count) const {
    if constexpr (is_in_order)
      done(driver().cuMemsetD16Async(to, bits, count, order_.handle()), "cuMemsetD16Async", to);
    else
      done(driver().cuMemsetD16(to, bits, count), "cuMemsetD16", to);
  }
  void set(CUdeviceptr to, unsigned bits, std::size_t count) const {
    if constexpr (is_in_order)
      done(driver().cuMemsetD32Async(to, bits, count, order_.handle()), "cuMemsetD32Async", to);
    else
      done(driver().cuMemsetD32(to, bits, count), "cuMemsetD32", to);
  }

  // Sets height rows of width elements of 1, 2 or 4 bytes.
  void set(CUdeviceptr to, std::size_t pitch, unsigned char bits, std::size_t width,
           std::size_t height) const {
    if constexpr (is_in_order)
      done(driver().cuMemsetD2D8Async(to, pitch, bits, width, height, order_.handle()), "cuMemsetD2D8Async",
           to);
    else
      done(driver().cuMemsetD2D8(to, pitch, bits, width, height), "cuMemsetD2D8", to);
  }
  void set(CUdeviceptr to, std::size_t pitch, unsigned short bits, std::size_t width,
           std::size_t height) const {
    if constexpr (is_in_order)
      done(driver().cuMemsetD2D16Async(to, pitch, bits, width, height, order_.handle()), "cuMemsetD2D16Async",
           to);
    else
      done(driver().cuMemsetD2D16(to, pitch, bits, width, height), "cuMemsetD2D16", to);
  }
  void set(CUdeviceptr to, std::size_t pitch, unsigned bits, std::size_t width, std::size_t height) const {
    if constexpr (is_in_order)
      done(driver().cuMemsetD2D32Async(to, pitch, bits, width, height, order_.handle()), "cuMemsetD2D32Async",
           to);
    else
      done(driver().cuMemsetD2D32(to, pitch, bits, width, height), "cuMemsetD2D32", to);
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
  void done(CUresult result, const char *routine, CUdeviceptr to) const {
    check(result, routine, where_, order_, Address{"to", to});
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

inline namespace CUSHIM_DEFAULT_STREAM {

// Copies from one range to another. At least one of them is in device or managed memory; they may be on two
// devices. The host memory may be reused when this returns. Throws INVALID_VALUE if the sizes differ. Driver
// calls: cuMemcpyHtoD, cuMemcpyDtoH or cuMemcpyDtoD; for rows cuMemcpy2D, for slices cuMemcpy3D.
template <class To, class From>
void copy(To &&to, const From &from, Driver &driver = cushim::driver(), Where where = Where::current()) {
  if constexpr (detail::check_copyable<To, const From>())
    detail::copy_views(detail::view_of(to), detail::view_of(from), driver, where);
}

// Copies in stream order and returns at once. Host memory must be page-locked, and must stay valid and
// unchanged until the copy is done. Throws INVALID_VALUE if the sizes differ. Driver calls:
// cuMemcpyHtoDAsync, cuMemcpyDtoHAsync or cuMemcpyDtoDAsync; for rows cuMemcpy2DAsync, for slices
// cuMemcpy3DAsync.
template <class To, class From>
void copy(To &&to, const From &from, const StreamRef &stream, Where where = Where::current()) {
  if constexpr (detail::check_copyable<To, const From>()) {
    if constexpr (detail::check_asynchronous<To, const From>())
      detail::copy_views(detail::view_of(to), detail::view_of(from), stream, where);
  }
}

// Copies in stream order from or to any host memory, pageable memory included. The driver copies pageable
// memory through a staging buffer, and this call waits for that: for a copy to the host, until the copy is
// done (so work that the stream waits for must not come later from the calling thread); for a copy from the
// host, until the memory is read. Throws INVALID_VALUE if the sizes differ. Driver calls: those of copy() in
// a stream.
template <class To, class From>
void copy_pageable(To &&to, const From &from, const StreamRef &stream, Where where = Where::current()) {
  if constexpr (detail::check_copyable<To, const From>())
    detail::copy_views(detail::view_of(to), detail::view_of(from), stream, where);
}

// Sets all elements of a range: device, managed or page-locked memory, or rows or slices in device memory.
// Elements have 1, 2, 4 or 8 bytes. Driver calls: cuMemsetD8, cuMemsetD16 or cuMemsetD32; for rows
// cuMemsetD2D8, 16 or 32; for slices one such call, or one per slice if unused rows lie between slices; for
// page-locked memory cuMemHostGetDevicePointer first. For elements of 8 bytes: cuMemsetD32 or cuMemsetD2D32
// if both halves are equal, else cuMemsetD2D32 twice, for rows twice per row.
template <class To>
void fill(To &&to, const detail::ValueFor<To> &value, Driver &driver = cushim::driver(),
          Where where = Where::current()) {
  if constexpr (detail::check_fillable<To>())
    detail::fill_view(detail::Through{&driver}, detail::view_of(to), value, where);
}

// Sets all elements in stream order. Driver calls: as above, cuMemsetD8Async and so on.
template <class To>
void fill(To &&to, const detail::ValueFor<To> &value, const StreamRef &stream,
          Where where = Where::current()) {
  if constexpr (detail::check_fillable<To>())
    detail::fill_view(stream.ref(), detail::view_of(to), value, where);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
