// SPDX-License-Identifier: Apache-2.0
// Managed memory: advice, prefetches and discards for ranges, and queries of what was advised.
//
//   advise(data, MemoryAdvice::read_mostly, device);
//   prefetch(data, device, stream);
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/exact.hpp>
#include <cushim/memory.hpp>
#include <cushim/stream.hpp>

#include <optional>
#include <span>
#include <vector>

namespace cushim {
inline namespace v1 {

// How a range of managed memory will be used.
enum class MemoryAdvice : int {
  read_mostly = CU_MEM_ADVISE_SET_READ_MOSTLY,
  unset_read_mostly = CU_MEM_ADVISE_UNSET_READ_MOSTLY,
  preferred_location = CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
  unset_preferred_location = CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
  accessed_by = CU_MEM_ADVISE_SET_ACCESSED_BY,
  unset_accessed_by = CU_MEM_ADVISE_UNSET_ACCESSED_BY,
};

// A place of managed memory: a device, or the host (empty).
using MemoryPlace = std::optional<Device>;

namespace detail {

inline CUdevice number_of(const MemoryPlace &place) { return place ? place->handle() : CU_DEVICE_CPU; }
inline MemoryPlace place_of(int number, Driver &driver) {
  return number >= 0 ? MemoryPlace(Device::from_handle(number, driver)) : std::nullopt;
}
inline CUmemLocation location_of(const MemoryPlace &place) {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(place ? 1 : 2);  // CU_MEM_LOCATION_TYPE_DEVICE, _HOST
  location.id = place ? place->handle() : 0;
  return location;
}

template <class T>
int range_attribute(DeviceSpan<T> range, CUmem_range_attribute attribute, Driver &driver, Where where) {
  return ask<int>(Through{&driver}, "cuMemRangeGetAttribute", where, [&](int *out) {
    return driver.cuMemRangeGetAttribute(out, sizeof *out, attribute, range.data().address(),
                                         range.size_bytes());
  });
}

}  // namespace detail

// Tells the driver how a range will be used, by a device or the host. Driver calls: cuMemAdvise (its first
// ABI).
template <class T>
void advise(DeviceSpan<T> range, MemoryAdvice advice, const MemoryPlace &place = std::nullopt,
            Driver &driver = cushim::driver(), Where where = Where::current()) {
  detail::check(exact::cuMemAdvise_v8000(driver)(range.data().address(), range.size_bytes(),
                                                 static_cast<CUmem_advise>(advice), detail::number_of(place)),
                "cuMemAdvise", where, detail::Through{&driver},
                detail::Address{"memory", range.data().address()},
                detail::Argument{"advice", static_cast<int>(advice)});
}

// Return the advice for a range, if all of it has the same: whether it is read mostly, its preferred
// location, and the place to which it was prefetched last; the host if there is none. Driver calls:
// cuMemRangeGetAttribute.
template <class T>
bool is_read_mostly(DeviceSpan<T> range, Driver &driver = cushim::driver(), Where where = Where::current()) {
  return detail::range_attribute(range, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, driver, where) != 0;
}
template <class T>
MemoryPlace preferred_location(DeviceSpan<T> range, Driver &driver = cushim::driver(),
                               Where where = Where::current()) {
  return detail::place_of(
      detail::range_attribute(range, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, driver, where), driver);
}
template <class T>
MemoryPlace last_prefetch(DeviceSpan<T> range, Driver &driver = cushim::driver(),
                          Where where = Where::current()) {
  return detail::place_of(
      detail::range_attribute(range, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, driver, where), driver);
}

// The advice for a range, as the functions above return it.
struct RangeState {
  bool is_read_mostly;
  MemoryPlace preferred_location;
  MemoryPlace last_prefetch;
};
// Returns all advice at once. Driver calls: cuMemRangeGetAttributes.
template <class T>
RangeState range_state(DeviceSpan<T> range, Driver &driver = cushim::driver(),
                       Where where = Where::current()) {
  int values[3] = {};
  void *places[] = {&values[0], &values[1], &values[2]};
  std::size_t sizes[] = {sizeof(int), sizeof(int), sizeof(int)};
  CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                                        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
  detail::check(driver.cuMemRangeGetAttributes(places, sizes, attributes, 3, range.data().address(),
                                               range.size_bytes()),
                "cuMemRangeGetAttributes", where, detail::Through{&driver});
  return {values[0] != 0, detail::place_of(values[1], driver), detail::place_of(values[2], driver)};
}

inline namespace CUSHIM_DEFAULT_STREAM {

// Moves a range to a device or to the host, in stream order. Driver calls: cuMemPrefetchAsync (its first
// ABI).
template <class T>
void prefetch(DeviceSpan<T> range, const MemoryPlace &place, const StreamRef &stream,
              Where where = Where::current()) {
  detail::check(CUSHIM_EXACT_PTSZ(cuMemPrefetchAsync_v8000)(stream.driver())(
                    range.data().address(), range.size_bytes(), detail::number_of(place), stream.handle()),
                "cuMemPrefetchAsync", where, stream, detail::Address{"memory", range.data().address()});
}

#if CUDA_VERSION >= 13000
namespace detail_of_batches {

// The addresses and sizes of ranges, as the driver takes them.
struct Ranges {
  template <class T>
  explicit Ranges(std::span<const DeviceSpan<T>> ranges) {
    for (const DeviceSpan<T> &range : ranges) {
      addresses.push_back(range.data().address());
      sizes.push_back(range.size_bytes());
    }
  }
  std::vector<CUdeviceptr> addresses;
  std::vector<std::size_t> sizes;
};

}  // namespace detail_of_batches

// Moves ranges to a device or to the host, in stream order. Needs CUDA 13.0, and no legacy default stream.
// Driver calls: cuMemPrefetchBatchAsync.
template <class T>
void prefetch(std::span<const DeviceSpan<T>> ranges, const MemoryPlace &place, const StreamRef &stream,
              Where where = Where::current()) {
  detail_of_batches::Ranges all(ranges);
  CUmemLocation location = detail::location_of(place);
  std::size_t first = 0;
  detail::check(
      stream.driver().cuMemPrefetchBatchAsync(all.addresses.data(), all.sizes.data(), all.sizes.size(),
                                              &location, &first, 1, 0, stream.handle()),
      "cuMemPrefetchBatchAsync", where, stream);
}
// Gives up the content of ranges, in stream order: it is undefined until it is written. Needs CUDA 13.0.
// Driver calls: cuMemDiscardBatchAsync.
template <class T>
void discard(std::span<const DeviceSpan<T>> ranges, const StreamRef &stream, Where where = Where::current()) {
  detail_of_batches::Ranges all(ranges);
  detail::check(stream.driver().cuMemDiscardBatchAsync(all.addresses.data(), all.sizes.data(),
                                                       all.sizes.size(), 0, stream.handle()),
                "cuMemDiscardBatchAsync", where, stream);
}
// Gives up the content of ranges and moves them, which copies nothing. Needs CUDA 13.0. Driver calls:
// cuMemDiscardAndPrefetchBatchAsync.
template <class T>
void discard_and_prefetch(std::span<const DeviceSpan<T>> ranges, const MemoryPlace &place,
                          const StreamRef &stream, Where where = Where::current()) {
  detail_of_batches::Ranges all(ranges);
  CUmemLocation location = detail::location_of(place);
  std::size_t first = 0;
  detail::check(
      stream.driver().cuMemDiscardAndPrefetchBatchAsync(
          all.addresses.data(), all.sizes.data(), all.sizes.size(), &location, &first, 1, 0, stream.handle()),
      "cuMemDiscardAndPrefetchBatchAsync", where, stream);
}
#endif

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
