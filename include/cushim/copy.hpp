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

#include <cushim/detail/copy_calls.hpp>
#include <cushim/detail/fill_calls.hpp>

namespace cushim {
inline namespace v1 {

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
