// SPDX-License-Identifier: Apache-2.0
// Virtual memory: reserved address ranges, and physical memory that is mapped in them.
//
//   const std::size_t size = PhysicalMemory::granularity(device);
//   const AddressReservation reservation = AddressReservation::create(16 * size);
//   const PhysicalMemory memory = PhysicalMemory::create(device, size);
//   const Mapping mapping = Mapping::create(reservation.subrange(0, size), memory);
//   mapping.set_access(device, MemoryAccess::read_write);
//   fill(mapping.span<int>(), 7);
//
// A reserved range is not a DeviceSpan, because its addresses are invalid until memory is mapped there.
// VirtualBuffer in <cushim/virtual_buffer.hpp> does all of this for an array that grows.
#pragma once

#include <cushim/physical_memory.hpp>

#include <span>
#include <vector>

namespace cushim {
inline namespace v1 {

// A part of reserved addresses. Owns nothing.
class ReservedRange {
 public:
  // Empty.
  ReservedRange() = default;

  // Returns a range of addresses that the caller has reserved. No driver call.
  static ReservedRange from_address(CUdeviceptr base, std::size_t size,
                                    Driver &driver = cushim::driver()) noexcept {
    return ReservedRange(base, size, driver);
  }

  CUdeviceptr base() const noexcept { return bound_.handle(); }
  std::size_t size() const noexcept { return size_; }  // bytes
  Driver &driver() const noexcept { return bound_.driver(); }
  bool is_empty() const noexcept { return bound_.is_empty(); }

  // Returns size bytes from offset. Throws std::out_of_range if the range is shorter.
  ReservedRange subrange(std::size_t offset, std::size_t size) const {
    detail::check_range("ReservedRange", offset, size, size_);
    return ReservedRange(base() + offset, size, driver());
  }

 private:
  friend class AddressReservation;
  ReservedRange(CUdeviceptr base, std::size_t size, Driver &driver) noexcept
      : bound_(base, driver), size_(size) {}

  detail::Bound<CUdeviceptr> bound_;
  std::size_t size_ = 0;
};

// Returns a description of the range for error messages.
inline std::string to_text(const ReservedRange &range) {
  if (range.is_empty()) return "an empty range of addresses";
  return std::to_string(range.size()) + " bytes at " +
         detail::hexadecimal(static_cast<std::uintptr_t>(range.base()));
}

namespace detail {

// Owns a range of addresses. Self has kFree, the NamedCall that frees or unmaps it.
template <class Self>
class RangeOwner {
 public:
  // Returns the owned addresses as a range that owns nothing. No driver call.
  const ReservedRange &range() const noexcept { return range_; }
  CUdeviceptr base() const noexcept { return range_.base(); }
  std::size_t size() const noexcept { return range_.size(); }  // bytes
  Driver &driver() const noexcept { return range_.driver(); }
  bool is_empty() const noexcept { return range_.is_empty(); }

  void swap(Self &other) noexcept { std::swap(range_, other.range_); }
  friend void swap(Self &left, Self &right) noexcept { left.swap(right); }

  // Frees or unmaps the range now. Throws Error if that fails. Does nothing if this is empty. Driver calls:
  // those that create() names for the end.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const ReservedRange range = release();
    check(free(range), Self::kFree.name, where, range);
  }

  // Returns the range, which the caller must free or unmap, and becomes empty. No driver call.
  [[nodiscard]] ReservedRange release() noexcept { return std::exchange(range_, {}); }

 protected:
  RangeOwner() = default;
  explicit RangeOwner(const ReservedRange &range) noexcept : range_(range) {}
  RangeOwner(RangeOwner &&other) noexcept : range_(other.release()) {}
  RangeOwner &operator=(RangeOwner &&other) noexcept {
    RangeOwner moved(std::move(other));
    std::swap(range_, moved.range_);
    return *this;
  }
  ~RangeOwner() {
    if (!is_empty()) report(free(range_), Self::kFree.name, range_);
  }

 private:
  static CUresult free(const ReservedRange &range) noexcept {
    return Self::kFree(range.driver(), range.base(), range.size());
  }

  ReservedRange range_;
};

}  // namespace detail

// Options of an address reservation.
struct AddressReservationOptions {
  std::size_t alignment = 0;  // bytes, a power of two; 0: the driver's default
  CUdeviceptr preferred = 0;  // the address to try first; 0: any
};

// Owns a range of addresses that no allocation of this process gets. Takes no memory.
class AddressReservation : public detail::RangeOwner<AddressReservation> {
 public:
  // Reserves size bytes, a multiple of the granularity. Needs no context. Driver calls: cuMemAddressReserve;
  // at the end cuMemAddressFree.
  static AddressReservation create(std::size_t size, const AddressReservationOptions &options = {},
                                   Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUdeviceptr base = 0;
    detail::check(driver.cuMemAddressReserve(&base, size, options.alignment, options.preferred, 0),
                  "cuMemAddressReserve", where, detail::Through{&driver},
                  detail::Argument{"bytes", static_cast<long long>(size)},
                  detail::Argument{"alignment", static_cast<long long>(options.alignment)});
    return AddressReservation(ReservedRange(base, size, driver));
  }
  // Takes ownership of a whole reservation. No driver call.
  static AddressReservation adopt(const ReservedRange &range) noexcept { return AddressReservation(range); }

  // Returns size bytes from offset as a range that owns nothing. Throws std::out_of_range if the reservation
  // is shorter. No driver call.
  ReservedRange subrange(std::size_t offset, std::size_t size) const {
    return range().subrange(offset, size);
  }

 private:
  friend RangeOwner;
  using RangeOwner::RangeOwner;
  static constexpr detail::NamedCall kFree{"cuMemAddressFree", &Driver::cuMemAddressFree};
};

// Sets how devices may access a range that consists of one or more whole mappings. Driver calls:
// cuMemSetAccess.
inline void set_access(const ReservedRange &range, std::span<const Device> devices, MemoryAccess access,
                       Where where = Where::current()) {
  detail::require(range, "cuMemSetAccess", where);
  std::vector<CUmemAccessDesc> descriptions;
  descriptions.reserve(devices.size());
  for (const Device device : devices) {
    detail::require(device, "cuMemSetAccess", where);
    descriptions.push_back(detail::access_of(device, access));
  }
  detail::check(
      range.driver().cuMemSetAccess(range.base(), range.size(), descriptions.data(), descriptions.size()),
      "cuMemSetAccess", where, range);
}

// Sets how the host may access a range of whole mappings: memory of the host (create_on_host_node()), or of a
// device that shares its memory with the host. Needs CUDA 12.2. Driver calls: cuMemSetAccess.
inline void set_host_access(const ReservedRange &range, MemoryAccess access, Where where = Where::current()) {
  detail::require(range, "cuMemSetAccess", where);
  CUmemAccessDesc description{};
  description.location.type = static_cast<CUmemLocationType>(detail::kHostLocation);
  description.flags = static_cast<CUmemAccess_flags>(access);
  detail::check(range.driver().cuMemSetAccess(range.base(), range.size(), &description, 1), "cuMemSetAccess",
                where, range);
}

// Owns a mapping of physical memory to reserved addresses. Keeps the memory alive. No device has access to a
// new mapping.
class Mapping : public detail::RangeOwner<Mapping> {
 public:
  // Maps range.size() bytes of the memory, from offset in bytes, to the range. Size and offset are multiples
  // of the granularity. Needs no context. Driver calls: cuMemMap; at the end cuMemUnmap, which waits for work
  // that uses the range.
  static Mapping create(const ReservedRange &range, const PhysicalMemoryRef &memory, std::size_t offset = 0,
                        Where where = Where::current()) {
    detail::require(range, "cuMemMap", where);
    detail::check(memory.driver().cuMemMap(range.base(), range.size(), offset, memory.handle(), 0),
                  "cuMemMap", where, memory, range,
                  detail::Argument{"offset", static_cast<long long>(offset)});
    return Mapping(range);
  }
  // Takes ownership of a whole mapping. No driver call.
  static Mapping adopt(const ReservedRange &range) noexcept { return Mapping(range); }

  // Sets how a device may access the memory through this mapping. Driver calls: cuMemSetAccess.
  void set_access(Device device, MemoryAccess access, Where where = Where::current()) const {
    cushim::set_access(range(), std::span<const Device>(&device, 1), access, where);
  }
  // Sets how the host may access the memory through this mapping: see cushim::set_host_access(). Driver
  // calls: cuMemSetAccess.
  void set_host_access(MemoryAccess access, Where where = Where::current()) const {
    cushim::set_host_access(range(), access, where);
  }
  // Returns the mapped addresses as memory of the host, which set_host_access() has given access. No driver
  // call.
  template <class T>
  std::span<T> host_span() const noexcept {
    return {reinterpret_cast<T *>(base()), size() / sizeof(T)};
  }
  // Returns how a device may access the memory through this mapping. Driver calls: cuMemGetAccess.
  MemoryAccess access(Device device, Where where = Where::current()) const {
    detail::require(device, "cuMemGetAccess", where);
    const CUmemLocation location = detail::location_of(device);
    unsigned long long flags = 0;
    detail::check(driver().cuMemGetAccess(&flags, &location, base()), "cuMemGetAccess", where, device,
                  range());
    return static_cast<MemoryAccess>(flags);
  }

  // Returns the mapped addresses as a range of elements. Only devices that set_access() names can access
  // them. No driver call.
  template <class T>
  DeviceSpan<T> span() const noexcept {
    return {DevicePtr<T>(base()), size() / sizeof(T)};
  }

 private:
  friend RangeOwner;
  using RangeOwner::RangeOwner;
  static constexpr detail::NamedCall kFree{"cuMemUnmap", &Driver::cuMemUnmap};
};

}  // namespace v1
}  // namespace cushim
