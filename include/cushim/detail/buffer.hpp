// SPDX-License-Identifier: Apache-2.0
// Base classes of the buffers: ownership of memory, and the functions of its range.
#pragma once

#include <cushim/detail/home_context.hpp>
#include <cushim/span.hpp>

#include <limits>
#include <optional>

namespace cushim {
inline namespace v1 {
namespace detail {

inline CUdeviceptr number(const void *pointer) noexcept { return reinterpret_cast<CUdeviceptr>(pointer); }
inline void *host_pointer(CUdeviceptr address) noexcept { return reinterpret_cast<void *>(address); }

// The driver call that frees each kind of memory.
struct DeviceMemory {
  static constexpr const char *routine = "cuMemFree";
  static CUresult free(Driver &driver, CUdeviceptr address) { return driver.cuMemFree(address); }
};
struct PinnedMemory {
  static constexpr const char *routine = "cuMemFreeHost";
  static CUresult free(Driver &driver, CUdeviceptr address) {
    return driver.cuMemFreeHost(host_pointer(address));
  }
};
struct HostRegistration {
  static constexpr const char *routine = "cuMemHostUnregister";
  static CUresult free(Driver &driver, CUdeviceptr address) {
    return driver.cuMemHostUnregister(host_pointer(address));
  }
};

// Owns an address. Frees it in the context that was given at creation, if any.
template <class Kind>
class OwnedMemory {
 public:
  OwnedMemory() = default;
  OwnedMemory(CUdeviceptr address, Driver &driver) noexcept : bound_(address, driver) {}

  OwnedMemory(OwnedMemory &&other) noexcept
      : bound_(std::exchange(other.bound_, {})), home_(std::move(other.home_)) {}
  OwnedMemory &operator=(OwnedMemory &&other) noexcept {
    OwnedMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~OwnedMemory() {
    if (is_empty()) return;
    const char *routine = nullptr;
    const CUresult result = give_back(routine);
    report(result, routine, words(), Through{&driver()});
  }

  void swap(OwnedMemory &other) noexcept {
    std::swap(bound_, other.bound_);
    std::swap(home_, other.home_);
  }

  void close(Where where) {
    if (is_empty()) return;
    OwnedMemory closing;
    closing.swap(*this);
    const Address memory = closing.words();
    const Through through{&closing.driver()};
    const char *routine = nullptr;
    const CUresult result = closing.give_back(routine);
    closing.bound_ = {};
    check(result, routine, where, memory, through);
    closing.home_.close(where);
  }

  // Returns the address, which the caller must free. Releases a retained primary context.
  CUdeviceptr release() noexcept {
    home_ = {};
    return std::exchange(bound_, {}).handle();
  }

  CUdeviceptr address() const noexcept { return bound_.handle(); }
  Driver &driver() const noexcept { return bound_.driver(); }
  bool is_empty() const noexcept { return bound_.is_empty(); }
  const HomeContext &home() const noexcept { return home_; }
  void set_home(HomeContext home) noexcept { home_ = std::move(home); }

 private:
  Address words() const noexcept { return {"memory", static_cast<std::uintptr_t>(address())}; }

  // Frees the memory in its context. Sets routine to the call that returned the result.
  CUresult give_back(const char *&routine) noexcept {
    routine = Kind::routine;
    return home_.run([this] { return Kind::free(driver(), address()); }, routine);
  }

  Bound<CUdeviceptr> bound_;
  HomeContext home_;
};

// Returns the size of count elements in bytes. Throws Error with CUDA_ERROR_INVALID_VALUE (1) if it exceeds
// std::size_t.
template <class T>
std::size_t bytes_of(std::size_t count, const char *routine, Where where) {
  static_assert(std::is_trivially_copyable_v<T>,
                "cushim: elements of device memory must be trivially copyable");
  if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
    fail(CUDA_ERROR_INVALID_VALUE, routine, where, Remark{"count is larger than the address space"});
  return count * sizeof(T);
}

// The base of classes that own memory. Self is a range of the memory; View is the same range without
// ownership.
template <class Self, class View, class Kind>
class Buffer {
 public:
  // Returns the memory as a range without ownership, which must not outlive this. No driver call.
  View span() const noexcept { return view_; }

  void swap(Self &other) noexcept { swap_members(other); }
  friend void swap(Self &left, Self &right) noexcept { left.swap(right); }

  // Frees the memory now. Throws Error if that fails. Does nothing if this is empty. Driver calls: those that
  // the comment of create() lists for the end.
  void close(Where where = Where::current()) {
    view_ = View();
    memory_.close(where);
  }

  // Returns the address, which the caller must free with cuMemFree, cuMemFreeHost or cuMemHostUnregister, and
  // becomes empty. Driver calls: cuDevicePrimaryCtxRelease if it was created on a device.
  [[nodiscard]] CUdeviceptr release() noexcept {
    view_ = View();
    return memory_.release();
  }

  // Returns whether this owns no memory. A buffer of 0 elements is empty. No driver call.
  bool is_empty() const noexcept { return memory_.is_empty(); }
  // Returns the driver that allocated the memory. No driver call.
  Driver &driver() const noexcept { return memory_.driver(); }
  // Returns the memory's context, if it was given at creation. No driver call.
  std::optional<ContextRef> context() const noexcept { return memory_.home().context(); }

 protected:
  Buffer() = default;
  Buffer(View view, CUdeviceptr address, Driver &driver) noexcept : view_(view), memory_(address, driver) {}
  Buffer(Buffer &&other) noexcept
      : view_(std::exchange(other.view_, View())), memory_(std::move(other.memory_)) {}
  Buffer &operator=(Buffer &&other) noexcept {
    Buffer moved(std::move(other));
    swap_members(moved);
    return *this;
  }
  ~Buffer() = default;

 private:
  friend Creation;
  void set_home(HomeContext home) noexcept { memory_.set_home(std::move(home)); }
  void swap_members(Buffer &other) noexcept {
    std::swap(view_, other.view_);
    memory_.swap(other.memory_);
  }

  View view_{};
  OwnedMemory<Kind> memory_;
};

// The range functions of buffers of device memory, as in DeviceSpan. Self has span().
template <class Self, class T>
class DeviceRangeCalls {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  DevicePtr<T> data() const noexcept { return range().data(); }
  std::size_t size() const noexcept { return range().size(); }
  std::size_t size_bytes() const noexcept { return range().size_bytes(); }
  bool empty() const noexcept { return range().empty(); }
  // Returns the address of one element. index may be size().
  DevicePtr<T> operator[](std::size_t index) const noexcept { return range()[index]; }
  // Return parts of the range, as in DeviceSpan.
  DeviceSpan<T> subspan(std::size_t offset, std::size_t count) const {
    return range().subspan(offset, count);
  }
  DeviceSpan<T> subspan(std::size_t offset) const { return range().subspan(offset); }
  DeviceSpan<T> first(std::size_t count) const { return range().first(count); }
  DeviceSpan<T> last(std::size_t count) const { return range().last(count); }
  template <class U>
  auto reinterpret() const {
    return range().template reinterpret<U>();
  }

  // Converts to a range without ownership, which must not outlive this.
  template <class U>
  requires std::is_convertible_v<T (*)[], U (*)[]>
  operator DeviceSpan<U>() const noexcept { return range(); }

 protected:
  ~DeviceRangeCalls() = default;

 private:
  DeviceSpan<T> range() const noexcept { return static_cast<const Self &>(*this).span(); }
};

// The range functions of buffers of page-locked memory, as in PinnedSpan. Self has span() and driver().
template <class Self, class T>
class PinnedRangeCalls : public HostRangeCalls<Self, T> {
 public:
  // Return parts of the range, as in PinnedSpan.
  PinnedSpan<T> subspan(std::size_t offset, std::size_t count) const {
    return self().span().subspan(offset, count);
  }
  PinnedSpan<T> subspan(std::size_t offset) const { return self().span().subspan(offset); }
  PinnedSpan<T> first(std::size_t count) const { return self().span().first(count); }
  PinnedSpan<T> last(std::size_t count) const { return self().span().last(count); }

  // Converts to a range without ownership, which must not outlive this.
  template <class U>
  requires std::is_convertible_v<T (*)[], U (*)[]>
  operator PinnedSpan<U>() const noexcept { return self().span(); }

  // Returns the memory as a range of device addresses. Driver calls: cuMemHostGetDevicePointer; none for 0
  // elements.
  DeviceSpan<T> device_span(Where where = Where::current()) const {
    return pinned_device_span(self().span(), self().driver(), where);
  }
  // Returns the device address of one element, for stream.wait_value(flags.device_ptr(1), geq(5)). Throws
  // std::out_of_range. Driver calls: cuMemHostGetDevicePointer.
  DevicePtr<T> device_ptr(std::size_t index, Where where = Where::current()) const {
    return pinned_device_span(self().span().subspan(index, 1), self().driver(), where).data();
  }

 private:
  const Self &self() const noexcept { return static_cast<const Self &>(*this); }
};

// Returns page-locked memory as a range of device addresses.
template <class T>
DeviceSpan<T> pinned_device_span(PinnedSpan<T> memory, Driver &driver, Where where) {
  if (memory.empty()) return {};
  CUdeviceptr address = 0;
  void *const pointer = const_cast<std::remove_cv_t<T> *>(memory.data());
  check(driver.cuMemHostGetDevicePointer(&address, pointer, 0), "cuMemHostGetDevicePointer", where,
        Through{&driver}, Address{"page-locked memory", number(pointer)});
  return {DevicePtr<T>(address), memory.size()};
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim
