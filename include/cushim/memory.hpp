// SPDX-License-Identifier: Apache-2.0
// Memory with an owner: device, pinned, registered, managed, pitched and stream-ordered buffers. Each buffer
// is freed through the driver that allocated it, in the context that was given at creation. If none was
// given, a context of the device must be current both at creation and at the end.
#pragma once

#include <cushim/span.hpp>
#include <cushim/stream.hpp>

#include <limits>

namespace cushim {
inline namespace v1 {

// Properties of pinned memory.
enum class PinnedFlags : unsigned {
  none = 0,
  portable = CU_MEMHOSTALLOC_PORTABLE,             // page-locked for all contexts
  device_map = CU_MEMHOSTALLOC_DEVICEMAP,          // mapped into the device's address space
  write_combined = CU_MEMHOSTALLOC_WRITECOMBINED,  // fast to write over the bus, slow for the host to read
};
constexpr bool is_flags(PinnedFlags) { return true; }

// Properties of registered memory.
enum class RegisterFlags : unsigned {
  none = 0,
  portable = CU_MEMHOSTREGISTER_PORTABLE,
  device_map = CU_MEMHOSTREGISTER_DEVICEMAP,
  io_memory = CU_MEMHOSTREGISTER_IOMEMORY,
  read_only = CU_MEMHOSTREGISTER_READ_ONLY,
};
constexpr bool is_flags(RegisterFlags) { return true; }

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

  // Calls push, free, pop; without a context, free alone. Sets routine to the call that returned the result.
  CUresult give_back(const char *&routine) noexcept {
    Driver &driver = bound_.driver();
    const ContextRef context = home_.ref();
    CUresult result = CUDA_SUCCESS;
    if (!context.is_empty()) {
      routine = "cuCtxPushCurrent";
      result = driver.cuCtxPushCurrent(context.handle());
      if (result != CUDA_SUCCESS) return result;
    }
    routine = Kind::routine;
    result = Kind::free(driver, address());
    if (!context.is_empty()) {
      CUcontext popped = nullptr;
      const CUresult pop = driver.cuCtxPopCurrent(&popped);
      if (result == CUDA_SUCCESS && pop != CUDA_SUCCESS) {
        routine = "cuCtxPopCurrent";
        result = pop;
      }
    }
    return result;
  }

  Bound<CUdeviceptr> bound_;
  HomeContext home_;
};

// Returns the size of count elements in bytes. Throws INVALID_VALUE if it exceeds std::size_t.
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
  // create() names for the end.
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

// Owns uninitialized device memory. Converts to a DeviceSpan.
template <class T>
class DeviceBuffer : public detail::Buffer<DeviceBuffer<T>, DeviceSpan<T>, detail::DeviceMemory>,
                     public detail::DeviceRangeCalls<DeviceBuffer<T>, T> {
  using Base = detail::Buffer<DeviceBuffer<T>, DeviceSpan<T>, detail::DeviceMemory>;
  using Base::Base;

 public:
  // Empty.
  DeviceBuffer() = default;

  // Allocates count elements in the current context. For 0 elements, makes no driver call and owns nothing.
  // Driver calls: cuMemAlloc; at the end cuMemFree.
  static DeviceBuffer create(std::size_t count, Driver &driver = cushim::driver(),
                             Where where = Where::current()) {
    if (count == 0) return {};
    CUdeviceptr address = 0;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemAlloc", where);
    detail::check(driver.cuMemAlloc(&address, bytes), "cuMemAlloc", where, detail::Through{&driver},
                  detail::Argument{"bytes", static_cast<long long>(bytes)});
    return DeviceBuffer(DeviceSpan<T>(DevicePtr<T>(address), count), address, driver);
  }
  // Allocates in a given context. Driver calls: push, as above, pop; at the end push, cuMemFree, pop.
  static DeviceBuffer create(ContextRef context, std::size_t count, Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(count, context.driver(), where); });
  }
  // Allocates in a device's primary context, which the buffer retains until it is freed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuMemFree, pop,
  // cuDevicePrimaryCtxRelease.
  static DeviceBuffer create(Device device, std::size_t count, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(count, device.driver(), where); });
  }
};

// Owns uninitialized page-locked host memory. Converts to a PinnedSpan and a std::span.
template <class T>
class PinnedBuffer : public detail::Buffer<PinnedBuffer<T>, PinnedSpan<T>, detail::PinnedMemory>,
                     public detail::PinnedRangeCalls<PinnedBuffer<T>, T> {
  using Base = detail::Buffer<PinnedBuffer<T>, PinnedSpan<T>, detail::PinnedMemory>;
  using Base::Base;

 public:
  // Empty.
  PinnedBuffer() = default;

  // Allocates count elements in the current context. For 0 elements, makes no driver call and owns nothing.
  // Driver calls: cuMemHostAlloc; at the end cuMemFreeHost.
  static PinnedBuffer create(std::size_t count, PinnedFlags flags = PinnedFlags::none,
                             Driver &driver = cushim::driver(), Where where = Where::current()) {
    if (count == 0) return {};
    void *pointer = nullptr;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemHostAlloc", where);
    detail::check(driver.cuMemHostAlloc(&pointer, bytes, detail::number(flags)), "cuMemHostAlloc", where,
                  detail::Through{&driver}, detail::Argument{"bytes", static_cast<long long>(bytes)},
                  detail::Argument{"flags", detail::number(flags)});
    return PinnedBuffer(PinnedSpan<T>(std::span<T>(static_cast<T *>(pointer), count)),
                        detail::number(pointer), driver);
  }
  // Allocates in a given context. Driver calls: push, as above, pop; at the end push, cuMemFreeHost, pop.
  static PinnedBuffer create(ContextRef context, std::size_t count, PinnedFlags flags = PinnedFlags::none,
                             Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return create(count, flags, context.driver(), where); });
  }
  // Allocates in a device's primary context, which the buffer retains until it is freed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuMemFreeHost, pop,
  // cuDevicePrimaryCtxRelease.
  static PinnedBuffer create(Device device, std::size_t count, PinnedFlags flags = PinnedFlags::none,
                             Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(count, flags, device.driver(), where); });
  }

  // Returns the flags that the driver stores. Driver calls: cuMemHostGetFlags.
  PinnedFlags flags(Where where = Where::current()) const {
    unsigned flags = 0;
    detail::check(this->driver().cuMemHostGetFlags(&flags, this->data()), "cuMemHostGetFlags", where,
                  detail::Through{&this->driver()},
                  detail::Address{"pinned memory", detail::number(this->data())});
    return static_cast<PinnedFlags>(flags);
  }
};

// Registers the caller's host memory, so that it is page-locked. Converts to a PinnedSpan and a std::span.
template <class T>
class RegisteredBuffer : public detail::Buffer<RegisteredBuffer<T>, PinnedSpan<T>, detail::HostRegistration>,
                         public detail::PinnedRangeCalls<RegisteredBuffer<T>, T> {
  using Base = detail::Buffer<RegisteredBuffer<T>, PinnedSpan<T>, detail::HostRegistration>;
  using Base::Base;

 public:
  // Empty.
  RegisteredBuffer() = default;

  // Registers memory, which must outlive this, in the current context. For 0 elements, makes no driver call
  // and registers nothing. Driver calls: cuMemHostRegister; at the end cuMemHostUnregister.
  static RegisteredBuffer create(std::span<T> memory, RegisterFlags flags = RegisterFlags::none,
                                 Driver &driver = cushim::driver(), Where where = Where::current()) {
    if (memory.empty()) return {};
    void *const pointer = const_cast<std::remove_cv_t<T> *>(memory.data());
    detail::check(driver.cuMemHostRegister(pointer, memory.size_bytes(), detail::number(flags)),
                  "cuMemHostRegister", where, detail::Through{&driver},
                  detail::Address{"memory", detail::number(pointer)},
                  detail::Argument{"bytes", static_cast<long long>(memory.size_bytes())},
                  detail::Argument{"flags", detail::number(flags)});
    return RegisteredBuffer(PinnedSpan<T>(memory), detail::number(pointer), driver);
  }
  // Registers in a given context. Driver calls: push, as above, pop; at the end push, cuMemHostUnregister,
  // pop.
  static RegisteredBuffer create(ContextRef context, std::span<T> memory,
                                 RegisterFlags flags = RegisterFlags::none, Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return create(memory, flags, context.driver(), where); });
  }
  // Registers in a device's primary context, which this retains until the memory is unregistered. Driver
  // calls: cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuMemHostUnregister, pop,
  // cuDevicePrimaryCtxRelease.
  static RegisteredBuffer create(Device device, std::span<T> memory,
                                 RegisterFlags flags = RegisterFlags::none, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(memory, flags, device.driver(), where); });
  }
};

// Owns uninitialized managed memory, which has the same address on the host and the devices. A host range
// that converts to a DeviceSpan and a std::span.
template <class T>
class ManagedBuffer : public detail::Buffer<ManagedBuffer<T>, std::span<T>, detail::DeviceMemory>,
                      public detail::HostRangeCalls<ManagedBuffer<T>, T> {
  using Base = detail::Buffer<ManagedBuffer<T>, std::span<T>, detail::DeviceMemory>;
  using Base::Base;

 public:
  // Empty.
  ManagedBuffer() = default;

  // Allocates count elements in the current context. For 0 elements, makes no driver call and owns nothing.
  // attachment is global or host. Driver calls: cuMemAllocManaged; at the end cuMemFree.
  static ManagedBuffer create(std::size_t count, MemoryAttachment attachment = MemoryAttachment::global,
                              Driver &driver = cushim::driver(), Where where = Where::current()) {
    if (count == 0) return {};
    CUdeviceptr address = 0;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemAllocManaged", where);
    detail::check(driver.cuMemAllocManaged(&address, bytes, static_cast<unsigned>(attachment)),
                  "cuMemAllocManaged", where, detail::Through{&driver},
                  detail::Argument{"bytes", static_cast<long long>(bytes)},
                  detail::Argument{"attachment", static_cast<int>(attachment)});
    return ManagedBuffer(std::span<T>(static_cast<T *>(detail::host_pointer(address)), count), address,
                         driver);
  }
  // Allocates in a given context. Driver calls: push, as above, pop; at the end push, cuMemFree, pop.
  static ManagedBuffer create(ContextRef context, std::size_t count,
                              MemoryAttachment attachment = MemoryAttachment::global,
                              Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return create(count, attachment, context.driver(), where); });
  }
  // Allocates in a device's primary context, which the buffer retains until it is freed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuMemFree, pop,
  // cuDevicePrimaryCtxRelease.
  static ManagedBuffer create(Device device, std::size_t count,
                              MemoryAttachment attachment = MemoryAttachment::global,
                              Where where = Where::current()) {
    return detail::Creation::on(device, where,
                                [&] { return create(count, attachment, device.driver(), where); });
  }

  // Returns the memory as a range of device addresses. No driver call.
  DeviceSpan<T> device_span() const noexcept {
    return {DevicePtr<T>(detail::number(this->data())), this->size()};
  }
  template <class U>
  requires std::is_convertible_v<T (*)[], U (*)[]>
  operator DeviceSpan<U>() const noexcept { return device_span(); }
};

// Owns uninitialized device memory for rows, with the pitch that the driver chooses for fast access. Converts
// to a DeviceSpan2D.
template <class T>
class PitchedBuffer : public detail::Buffer<PitchedBuffer<T>, DeviceSpan2D<T>, detail::DeviceMemory> {
  using Base = detail::Buffer<PitchedBuffer<T>, DeviceSpan2D<T>, detail::DeviceMemory>;
  using Base::Base;

 public:
  // Empty.
  PitchedBuffer() = default;

  // Allocates height rows of width elements in the current context. For 0 elements, makes no driver call and
  // owns nothing. Driver calls: cuMemAllocPitch; at the end cuMemFree.
  static PitchedBuffer create(std::size_t width, std::size_t height, Driver &driver = cushim::driver(),
                              Where where = Where::current()) {
    if (width == 0 || height == 0) return {};
    constexpr unsigned access =
        sizeof(T) == 8 || sizeof(T) == 16 ? sizeof(T) : 4;  // the driver accepts 4, 8 and 16
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    const std::size_t bytes = detail::bytes_of<T>(width, "cuMemAllocPitch", where);
    detail::check(driver.cuMemAllocPitch(&address, &pitch, bytes, height, access), "cuMemAllocPitch", where,
                  detail::Through{&driver}, detail::Argument{"width in bytes", static_cast<long long>(bytes)},
                  detail::Argument{"height", static_cast<long long>(height)});
    return PitchedBuffer(DeviceSpan2D<T>{DevicePtr<T>(address), width, height, pitch}, address, driver);
  }
  // Allocates in a given context. Driver calls: push, as above, pop; at the end push, cuMemFree, pop.
  static PitchedBuffer create(ContextRef context, std::size_t width, std::size_t height,
                              Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return create(width, height, context.driver(), where); });
  }
  // Allocates in a device's primary context, which the buffer retains until it is freed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuMemFree, pop,
  // cuDevicePrimaryCtxRelease.
  static PitchedBuffer create(Device device, std::size_t width, std::size_t height,
                              Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(width, height, device.driver(), where); });
  }

  DevicePtr<T> data() const noexcept { return this->span().data; }
  std::size_t width() const noexcept { return this->span().width; }    // elements in a row
  std::size_t height() const noexcept { return this->span().height; }  // rows
  std::size_t pitch() const noexcept { return this->span().pitch; }    // bytes from row to row

  operator DeviceSpan2D<T>() const noexcept { return this->span(); }
};

class MemoryPoolRef;

inline namespace CUSHIM_DEFAULT_STREAM {

// Owns memory that is allocated and freed in the order of a stream, from a pool. Converts to a DeviceSpan.
// Work in other streams must be ordered after the allocation and before the free. The stream must outlive
// this.
template <class T>
class StreamBuffer : public detail::DeviceRangeCalls<StreamBuffer<T>, T> {
 public:
  // Empty.
  StreamBuffer() = default;

  // Allocates count elements in stream order, from the current pool of the stream's device. For 0 elements,
  // makes no driver call and owns nothing. Driver calls: cuMemAllocAsync; at the end cuMemFreeAsync in the
  // same stream.
  static StreamBuffer create(const StreamRef &stream, std::size_t count, Where where = Where::current()) {
    if (count == 0) return {};
    CUdeviceptr address = 0;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemAllocAsync", where);
    detail::check(stream.driver().cuMemAllocAsync(&address, bytes, stream.handle()), "cuMemAllocAsync", where,
                  stream, detail::Argument{"bytes", static_cast<long long>(bytes)});
    return StreamBuffer(DeviceSpan<T>(DevicePtr<T>(address), count), stream);
  }
  // Allocates from a pool (<cushim/memory_pool.hpp>), which may be destroyed before the memory is freed.
  // Driver calls: cuMemAllocFromPoolAsync; at the end cuMemFreeAsync in the same stream.
  static StreamBuffer create(const MemoryPoolRef &pool, const StreamRef &stream, std::size_t count,
                             Where where = Where::current());

  StreamBuffer(StreamBuffer &&other) noexcept
      : span_(std::exchange(other.span_, {})), stream_(std::exchange(other.stream_, {})) {}
  StreamBuffer &operator=(StreamBuffer &&other) noexcept {
    StreamBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~StreamBuffer() {
    if (!is_empty()) detail::report(free(), "cuMemFreeAsync", stream_, words());
  }

  void swap(StreamBuffer &other) noexcept {
    std::swap(span_, other.span_);
    std::swap(stream_, other.stream_);
  }
  friend void swap(StreamBuffer &left, StreamBuffer &right) noexcept { left.swap(right); }

  // Returns the memory as a range without ownership, which must not outlive this. No driver call.
  DeviceSpan<T> span() const noexcept { return span_; }

  // Frees the memory now, in stream order. Throws Error if that fails. Does nothing if this is empty. Driver
  // calls: cuMemFreeAsync.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const StreamRef stream = stream_;
    const detail::Address memory = words();
    const CUresult result = free();
    static_cast<void>(release());
    detail::check(result, "cuMemFreeAsync", where, stream, memory);
  }

  // Returns the address, which the caller must free, and becomes empty. No driver call.
  [[nodiscard]] CUdeviceptr release() noexcept {
    stream_ = StreamRef();
    return std::exchange(span_, {}).data().address();
  }

  // Return or set the stream in whose order the memory is freed. No driver call.
  StreamRef stream() const noexcept { return stream_; }
  void set_stream(const StreamRef &stream) noexcept { stream_ = stream; }

  // Returns whether this owns no memory. No driver call.
  bool is_empty() const noexcept { return span_.empty(); }

 private:
  StreamBuffer(DeviceSpan<T> span, const StreamRef &stream) noexcept : span_(span), stream_(stream) {}
  CUresult free() noexcept {
    return stream_.driver().cuMemFreeAsync(span_.data().address(), stream_.handle());
  }
  detail::Address words() const noexcept {
    return {"memory", static_cast<std::uintptr_t>(span_.data().address())};
  }

  DeviceSpan<T> span_;
  StreamRef stream_;
};

}  // namespace CUSHIM_DEFAULT_STREAM

template <class T>
DeviceSpan(const DeviceBuffer<T> &) -> DeviceSpan<T>;
template <class T>
DeviceSpan(const ManagedBuffer<T> &) -> DeviceSpan<T>;
template <class T>
DeviceSpan(const StreamBuffer<T> &) -> DeviceSpan<T>;
template <class T>
PinnedSpan(const PinnedBuffer<T> &) -> PinnedSpan<T>;
template <class T>
PinnedSpan(const RegisteredBuffer<T> &) -> PinnedSpan<T>;

}  // namespace v1
}  // namespace cushim
