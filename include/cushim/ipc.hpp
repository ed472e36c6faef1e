// SPDX-License-Identifier: Apache-2.0
// Shares events and memory with other processes. A handle is plain bytes, which the program may send by any
// means. Only a process other than the exporter can open it.
//
//   const auto handle = cushim::event::ipc::export_(event);            // in one process
//   auto event = cushim::event::ipc::import(device, handle);           // in another
//
//   const auto handle = cushim::memory::ipc::export_(buffer.data());   // may point into the middle
//   auto mapping = cushim::memory::ipc::import(device, handle);
#pragma once

#include <cushim/event.hpp>
#include <cushim/memory.hpp>
#include <cushim/pointer.hpp>

#include <span>

namespace cushim {
inline namespace v1 {

namespace detail {

// Returns a handle from received bytes. Throws INVALID_VALUE if the number of bytes is wrong.
template <class Handle>
Handle handle_from_bytes(std::span<const std::byte> bytes, const char *routine, Where where) {
  static_assert(std::is_trivially_copyable_v<Handle>);
  if (bytes.size() != sizeof(Handle))
    fail(CUDA_ERROR_INVALID_VALUE, routine, where,
         Argument{"bytes given", static_cast<long long>(bytes.size())},
         Argument{"bytes of a handle", static_cast<long long>(sizeof(Handle))},
         Remark{"the handle was cut or is of another kind"});
  Handle handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  return handle;
}

inline const char *import_remark(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_CONTEXT:
      return "a handle opens only in another process than the one that made it";
    case CUDA_ERROR_MAP_FAILED:
    case CUDA_ERROR_INVALID_VALUE:
      return "the handle is invalid, or the exported object no longer exists";
    default:
      return nullptr;
  }
}

struct IpcMapping {
  static constexpr const char *routine = "cuIpcCloseMemHandle";
  static CUresult free(Driver &driver, CUdeviceptr address) { return driver.cuIpcCloseMemHandle(address); }
};

}  // namespace detail

// ---- Events ------------------------------------------------------------------------------------

inline namespace CUSHIM_DEFAULT_STREAM {

class IpcEvent;

namespace event::ipc {

// Identifies an event for other processes.
struct handle_t {
  CUipcEventHandle raw;

  std::span<const std::byte, sizeof(CUipcEventHandle)> bytes() const noexcept {
    return std::as_bytes(std::span<const CUipcEventHandle, 1>(&raw, 1));
  }
  // Returns a handle from 64 received bytes. Throws INVALID_VALUE for another number of bytes.
  static handle_t from_bytes(std::span<const std::byte> bytes, Where where = Where::current()) {
    return detail::handle_from_bytes<handle_t>(bytes, "cuIpcOpenEventHandle", where);
  }
};
static_assert(sizeof(handle_t) == 64);

// Exports an event. Driver calls: cuIpcGetEventHandle.
handle_t export_(const IpcEvent &event, Where where = Where::current());
// Opens an event of another process in a device's primary context, which the event retains until it is
// destroyed. Driver calls: cuDevicePrimaryCtxRetain, push, cuIpcOpenEventHandle, pop; at the end
// cuEventDestroy, cuDevicePrimaryCtxRelease.
IpcEvent import(Device device, const handle_t &handle, Where where = Where::current());
// Opens an event of another process in a given context. Driver calls: push, cuIpcOpenEventHandle, pop; at the
// end cuEventDestroy.
IpcEvent import(ContextRef context, const handle_t &handle, Where where = Where::current());

}  // namespace event::ipc

// Owns an event that other processes can open. Has no timing, because the driver does not allow both flags.
class IpcEvent : public detail::EventOwner<IpcEvent, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS> {
 public:
  // Returns event::ipc::export_(*this).
  event::ipc::handle_t ipc_descriptor(Where where = Where::current()) const {
    return event::ipc::export_(*this, where);
  }
  // Returns event::ipc::import(place, descriptor). place is a device or a context.
  template <class Place>
  static IpcEvent from_ipc_descriptor(const Place &place, const event::ipc::handle_t &descriptor,
                                      Where where = Where::current()) {
    return event::ipc::import(place, descriptor, where);
  }

 private:
  friend EventOwner;
  friend IpcEvent event::ipc::import(Device, const event::ipc::handle_t &, Where);
  friend IpcEvent event::ipc::import(ContextRef, const event::ipc::handle_t &, Where);
  using EventOwner::EventOwner;

  template <class Place>
  static IpcEvent open(const Place &place, const event::ipc::handle_t &handle, Where where) {
    CUevent raw = nullptr;
    const CUresult result = place.driver().cuIpcOpenEventHandle(&raw, handle.raw);
    detail::check(result, "cuIpcOpenEventHandle", where, place,
                  detail::Remark{detail::import_remark(result)});
    return adopt(raw, EventFlags::none, place.driver());
  }
};

inline event::ipc::handle_t event::ipc::export_(const IpcEvent &event, Where where) {
  handle_t handle{};
  detail::check(event.driver().cuIpcGetEventHandle(&handle.raw, event.handle()), "cuIpcGetEventHandle", where,
                event.ref());
  return handle;
}

inline IpcEvent event::ipc::import(ContextRef context, const handle_t &handle, Where where) {
  return detail::Creation::in(context, where, [&] { return IpcEvent::open(context, handle, where); });
}

inline IpcEvent event::ipc::import(Device device, const handle_t &handle, Where where) {
  return detail::Creation::on(device, where, [&] { return IpcEvent::open(device, handle, where); });
}

}  // namespace CUSHIM_DEFAULT_STREAM

// ---- Memory ------------------------------------------------------------------------------------

namespace memory::ipc {

// Identifies device memory for other processes: an allocation and an offset in it.
struct handle_t {
  CUipcMemHandle raw;
  std::uint64_t offset;  // bytes from the allocation's base to the exported pointer
  std::uint64_t size;    // bytes from the exported pointer to the allocation's end

  std::span<const std::byte, sizeof(CUipcMemHandle) + 16> bytes() const noexcept {
    return std::as_bytes(std::span<const handle_t, 1>(this, 1));
  }
  // Returns a handle from 80 received bytes. Throws INVALID_VALUE for another number of bytes.
  static handle_t from_bytes(std::span<const std::byte> bytes, Where where = Where::current()) {
    return detail::handle_from_bytes<handle_t>(bytes, "cuIpcOpenMemHandle", where);
  }
};
static_assert(sizeof(handle_t) == 80);

// Exports device memory. The pointer may lie inside an allocation of cuMemAlloc. Managed memory, memory from
// pools and imported memory cannot be exported this way. Driver calls: cuMemGetAddressRange,
// cuIpcGetMemHandle.
inline handle_t export_(CUdeviceptr address, Driver &driver = cushim::driver(),
                        Where where = Where::current()) {
  const AddressRange range = address_range(address, driver, where);
  handle_t handle{{}, address - range.base, range.base + range.size - address};
  detail::check(driver.cuIpcGetMemHandle(&handle.raw, address), "cuIpcGetMemHandle", where,
                detail::Through{&driver}, detail::Address{"address", address});
  return handle;
}
template <class T>
handle_t export_(DevicePtr<T> pointer, Driver &driver = cushim::driver(), Where where = Where::current()) {
  return export_(pointer.address(), driver, where);
}

// Owns a mapping of another process's memory. The driver counts the openings: memory that is opened again has
// the same address, and stays mapped until the last mapping is closed. The memory must be closed, never
// freed, here. It stays readable if its owner frees it meanwhile.
class Mapping {
 public:
  // Empty.
  Mapping() = default;

  // Takes ownership of an existing mapping, given by its base address. No driver call.
  static Mapping adopt(CUdeviceptr base, Driver &driver = cushim::driver()) noexcept {
    Mapping mapping;
    mapping.memory_ = detail::OwnedMemory<detail::IpcMapping>(base, driver);
    return mapping;
  }

  Mapping(Mapping &&other) noexcept { swap(other); }
  Mapping &operator=(Mapping &&other) noexcept {
    Mapping(std::move(other)).swap(*this);
    return *this;
  }
  void swap(Mapping &other) noexcept {
    memory_.swap(other.memory_);
    std::swap(offset_, other.offset_);
    std::swap(size_, other.size_);
  }
  friend void swap(Mapping &left, Mapping &right) noexcept { left.swap(right); }

  // Returns the exported pointer as an address of this process.
  CUdeviceptr address() const noexcept { return memory_.address() + offset_; }
  // Returns the allocation's base as an address of this process.
  CUdeviceptr base() const noexcept { return memory_.address(); }
  // Returns the number of bytes from address() to the end of the allocation.
  std::size_t size_bytes() const noexcept { return size_; }
  // Returns address() and size_bytes() as a range of elements.
  template <class T>
  DeviceSpan<T> span() const noexcept {
    return {DevicePtr<T>(address()), size_ / sizeof(T)};
  }

  bool is_empty() const noexcept { return memory_.is_empty(); }
  Driver &driver() const noexcept { return memory_.driver(); }

  // Closes the mapping now. Throws Error if that fails. Does nothing if this is empty. Driver calls: those
  // that import() names for the end.
  void close(Where where = Where::current()) {
    Mapping closing;
    closing.swap(*this);
    closing.memory_.close(where);
  }

  // Returns the base of the mapping, which the caller must close, and becomes empty. Driver calls:
  // cuDevicePrimaryCtxRelease if it was opened on a device.
  [[nodiscard]] CUdeviceptr release() noexcept {
    const CUdeviceptr base = memory_.release();
    Mapping().swap(*this);
    return base;
  }

 private:
  friend detail::Creation;
  friend Mapping import(const handle_t &, Driver &, Where);
  void set_home(detail::HomeContext home) noexcept { memory_.set_home(std::move(home)); }

  detail::OwnedMemory<detail::IpcMapping> memory_;
  std::uint64_t offset_ = 0;
  std::size_t size_ = 0;
};

// Maps memory of another process in the current context. Enables peer access as needed: the driver has no
// other flag. Driver calls: cuIpcOpenMemHandle; at the end cuIpcCloseMemHandle.
inline Mapping import(const handle_t &handle, Driver &driver = cushim::driver(),
                      Where where = Where::current()) {
  CUdeviceptr base = 0;
  const CUresult result = driver.cuIpcOpenMemHandle(&base, handle.raw, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  detail::check(result, "cuIpcOpenMemHandle", where, detail::Through{&driver},
                detail::Remark{detail::import_remark(result)});
  Mapping mapping = Mapping::adopt(base, driver);
  mapping.offset_ = handle.offset;
  mapping.size_ = static_cast<std::size_t>(handle.size);
  return mapping;
}
// Maps memory in a given context. Driver calls: push, cuIpcOpenMemHandle, pop; at the end push,
// cuIpcCloseMemHandle, pop.
inline Mapping import(ContextRef context, const handle_t &handle, Where where = Where::current()) {
  return detail::Creation::in(context, where, [&] { return import(handle, context.driver(), where); });
}
// Maps memory in a device's primary context, which the mapping retains until it is closed. Driver calls:
// cuDevicePrimaryCtxRetain, push, cuIpcOpenMemHandle, pop; at the end push, cuIpcCloseMemHandle, pop,
// cuDevicePrimaryCtxRelease.
inline Mapping import(Device device, const handle_t &handle, Where where = Where::current()) {
  return detail::Creation::on(device, where, [&] { return import(handle, device.driver(), where); });
}

}  // namespace memory::ipc
}  // namespace v1
}  // namespace cushim
