// SPDX-License-Identifier: Apache-2.0
// Memory with an owner: device, pinned, registered, managed and pitched buffers. Each buffer is freed
// through the driver that allocated it, in the context that was given at creation. If none was given, a
// context of the device must be current both at creation and at the end.
#pragma once

#include <cushim/detail/buffer.hpp>
#include <cushim/stream_buffer.hpp>

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
  // Takes ownership of memory that cuMemFree frees. No driver call.
  static DeviceBuffer adopt(DeviceSpan<T> memory, Driver &driver = cushim::driver()) noexcept {
    return DeviceBuffer(memory, memory.data().address(), driver);
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

template <class T>
DeviceSpan(const DeviceBuffer<T> &) -> DeviceSpan<T>;
template <class T>
DeviceSpan(const ManagedBuffer<T> &) -> DeviceSpan<T>;
template <class T>
PinnedSpan(const PinnedBuffer<T> &) -> PinnedSpan<T>;
template <class T>
PinnedSpan(const RegisteredBuffer<T> &) -> PinnedSpan<T>;

}  // namespace v1
}  // namespace cushim
