// SPDX-License-Identifier: Apache-2.0
// An array in device memory that grows and shrinks in place: its addresses never change.
//
//   auto rows = VirtualBuffer<float>::create(device, 1'000'000'000);   // reserves addresses, no memory
//   rows.resize(1000);                                                 // maps memory for them
//   rows.resize(2000);                                                 // the first 1000 stay where they are
#pragma once

#include <cushim/memory.hpp>
#include <cushim/virtual_memory.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace cushim {
inline namespace v1 {

// Owns a range of addresses, and the memory that is mapped at its beginning. Converts to a DeviceSpan of
// size() elements. New elements are uninitialized.
template <class T>
class VirtualBuffer : public detail::DeviceRangeCalls<VirtualBuffer<T>, T> {
 public:
  // Empty.
  VirtualBuffer() = default;

  // Reserves addresses for max_size elements. Needs no context. For 0 elements, makes no driver call and owns
  // nothing. Driver calls: cuMemGetAllocationGranularity, cuMemAddressReserve; at the end those of resize(0),
  // cuMemAddressFree.
  static VirtualBuffer create(Device device, std::size_t max_size, Where where = Where::current()) {
    if (max_size == 0) return {};
    const std::size_t bytes = detail::bytes_of<T>(max_size, "cuMemAddressReserve", where);
    VirtualBuffer buffer;
    buffer.granularity_ = PhysicalMemory::granularity(device, Granularity::recommended, {}, where);
    buffer.reservation_ =
        AddressReservation::create(buffer.whole_granules(bytes, where), {}, device.driver(), where);
    buffer.devices_.push_back(device);
    return buffer;
  }

  VirtualBuffer(VirtualBuffer &&other) noexcept { swap(other); }
  VirtualBuffer &operator=(VirtualBuffer &&other) noexcept {
    VirtualBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~VirtualBuffer() = default;  // the mappings first, then the addresses

  void swap(VirtualBuffer &other) noexcept {
    std::swap(size_, other.size_);
    std::swap(granularity_, other.granularity_);
    std::swap(devices_, other.devices_);
    reservation_.swap(other.reservation_);
    std::swap(mappings_, other.mappings_);
  }
  friend void swap(VirtualBuffer &left, VirtualBuffer &right) noexcept { left.swap(right); }

  // Sets the number of elements. Maps memory for as many more as do not fit in capacity(); unmaps each
  // earlier mapping whose elements all lie behind the new end. Throws INVALID_VALUE above max_size(), and
  // OUT_OF_MEMORY; the buffer is then unchanged. Driver calls: none while the mappings stay the same; to
  // grow cuMemCreate, cuMemMap, cuMemSetAccess, cuMemRelease; to shrink cuMemUnmap for each mapping, which
  // waits for work that uses it.
  void resize(std::size_t count, Where where = Where::current()) {
    if (count > max_size())
      detail::fail(CUDA_ERROR_INVALID_VALUE, "cuMemMap", where, reservation_.range(),
                   detail::Argument{"elements", static_cast<long long>(count)},
                   detail::Remark{"more than max_size()"});
    const std::size_t bytes = count * sizeof(T);
    if (bytes > mapped_bytes()) map(whole_granules(bytes, where) - mapped_bytes(), where);
    while (!mappings_.empty() && offset_of(mappings_.back()) >= bytes) {
      Mapping last = std::move(mappings_.back());
      mappings_.pop_back();
      size_ = std::min(size_, capacity());
      last.close(where);
    }
    size_ = count;
  }

  // Gives another device read and write access, to the memory that is mapped now or later. Driver calls:
  // cuMemSetAccess, if memory is mapped.
  void add_access(Device device, Where where = Where::current()) {
    detail::require(device, "cuMemSetAccess", where);
    devices_.reserve(devices_.size() + 1);
    if (mapped_bytes() != 0)
      set_access(reservation_.subrange(0, mapped_bytes()), std::span<const Device>(&device, 1),
                 MemoryAccess::read_write, where);
    devices_.push_back(device);
  }

  // Frees memory and addresses now. Throws Error if that fails. Does nothing if this is empty. Driver calls:
  // those that create() names for the end.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    resize(0, where);
    reservation_.close(where);
    VirtualBuffer().swap(*this);
  }

  // Returns the elements as a range without ownership. Its addresses stay valid until the elements are
  // removed. No driver call.
  DeviceSpan<T> span() const noexcept { return {DevicePtr<T>(reservation_.base()), size_}; }
  // Returns the number of elements for which memory is mapped.
  std::size_t capacity() const noexcept { return mapped_bytes() / sizeof(T); }
  // Returns the number of elements for which addresses are reserved. At least what create() was given.
  std::size_t max_size() const noexcept { return reservation_.size() / sizeof(T); }

  // Returns whether this has no addresses. A buffer of size 0 is not empty.
  bool is_empty() const noexcept { return reservation_.is_empty(); }
  // Returns the driver that reserved the addresses. No driver call.
  Driver &driver() const noexcept { return reservation_.driver(); }

 private:
  std::size_t offset_of(const Mapping &mapping) const noexcept {
    return static_cast<std::size_t>(mapping.base() - reservation_.base());
  }
  std::size_t mapped_bytes() const noexcept {
    return mappings_.empty() ? 0 : offset_of(mappings_.back()) + mappings_.back().size();
  }
  std::size_t whole_granules(std::size_t bytes, Where where) const {
    const std::size_t granules = bytes / granularity_ + (bytes % granularity_ != 0);
    if (granules > std::numeric_limits<std::size_t>::max() / granularity_)
      detail::fail(CUDA_ERROR_INVALID_VALUE, "cuMemAddressReserve", where,
                   detail::Remark{"the size exceeds the address space"});
    return granules * granularity_;
  }
  // Maps bytes after the last mapping. The mapping keeps the memory alive, so its handle is released.
  void map(std::size_t bytes, Where where) {
    PhysicalMemory memory = PhysicalMemory::create(devices_.front(), bytes, {}, where);
    Mapping mapping = Mapping::create(reservation_.subrange(mapped_bytes(), bytes), memory, 0, where);
    set_access(mapping.range(), devices_, MemoryAccess::read_write, where);
    memory.close(where);
    mappings_.push_back(std::move(mapping));
  }

  std::size_t size_ = 0;
  std::size_t granularity_ = 0;
  std::vector<Device> devices_;  // the memory's own, then others with access
  AddressReservation reservation_;
  std::vector<Mapping> mappings_;  // in the order of their addresses, without gaps
};

template <class T>
DeviceSpan(const VirtualBuffer<T> &) -> DeviceSpan<T>;

namespace detail {

template <class T>
DeviceSpan<T> own_view(const VirtualBuffer<T> &buffer) {  // for copies and sets
  return buffer.span();
}

}  // namespace detail

}  // namespace v1
}  // namespace cushim
