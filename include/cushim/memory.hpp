// SPDX-License-Identifier: Apache-2.0
// Memory that is owned: device, pinned, registered, managed, pitched, and allocated in stream order.
// Each buffer is freed through the driver that made it, in the context that it was made in if that
// was given at creation; else some context of the device must be current at both times.
#pragma once

#include <cushim/device_ptr.hpp>
#include <cushim/stream.hpp>

#include <limits>
#include <span>

namespace cushim {
inline namespace v1 {

enum class PinnedFlags : unsigned {
  none = 0,
  portable = CU_MEMHOSTALLOC_PORTABLE,             // pinned for all contexts
  device_map = CU_MEMHOSTALLOC_DEVICEMAP,          // mapped for the device
  write_combined = CU_MEMHOSTALLOC_WRITECOMBINED,  // fast to write over the bus, slow for the host to read
};
constexpr bool is_flags(PinnedFlags) { return true; }

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

// How each kind of memory is given back.
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

// Owns an address; gives it back in its context, if that is known.
template <class Kind>
class OwnedMemory : public Reference<CUdeviceptr> {
 public:
  OwnedMemory() = default;
  OwnedMemory(CUdeviceptr address, Driver &driver) noexcept : Reference(address, driver) {}

  OwnedMemory(OwnedMemory &&other) noexcept
      : Reference(other), context_(std::exchange(other.context_, ContextRef())) {
    other.take();
  }
  OwnedMemory &operator=(OwnedMemory &&other) noexcept {
    OwnedMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~OwnedMemory() {
    if (is_empty()) return;
    const char *routine = nullptr;
    const CUresult result = give_back(routine);
    report(result, routine, *this);
  }

  void swap(OwnedMemory &other) noexcept {
    std::swap(static_cast<Reference &>(*this), static_cast<Reference &>(other));
    std::swap(context_, other.context_);
  }

  void close(Where where) {
    if (is_empty()) return;
    OwnedMemory closing;
    closing.swap(*this);
    const Reference memory(closing);
    const char *routine = nullptr;
    const CUresult result = closing.give_back(routine);
    closing.take();
    check(result, routine, where, Address{"memory", memory.handle()}, Through{&memory.driver()});
  }

  using Reference::take;

  ContextRef context() const noexcept { return context_; }
  void set_context(ContextRef context) noexcept { context_ = context; }

  friend std::string in_words(const OwnedMemory &memory) {
    return memory.is_empty() ? "empty memory" : in_words(Address{"memory", memory.handle()});
  }

 private:
  // push, free, pop; or free alone. Says which call the result is of.
  CUresult give_back(const char *&routine) noexcept {
    CUresult result = CUDA_SUCCESS;
    if (!context_.is_empty()) {
      routine = "cuCtxPushCurrent";
      result = driver().cuCtxPushCurrent(context_.handle());
      if (result != CUDA_SUCCESS) return result;
    }
    routine = Kind::routine;
    result = Kind::free(driver(), handle());
    if (!context_.is_empty()) {
      CUcontext popped = nullptr;
      const CUresult pop = driver().cuCtxPopCurrent(&popped);
      if (result == CUDA_SUCCESS && pop != CUDA_SUCCESS) {
        routine = "cuCtxPopCurrent";
        result = pop;
      }
    }
    return result;
  }

  ContextRef context_;
};

// count elements in bytes; refused if that is no number.
template <class T>
std::size_t bytes_of(std::size_t count, const char *routine, Where where) {
  static_assert(std::is_trivially_copyable_v<T>, "what the device works on must be trivially copyable");
  if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
    fail(CUDA_ERROR_INVALID_VALUE, routine, where, Remark{"count is larger than the address space"});
  return count * sizeof(T);
}

// What owning buffers have in common. View is what they are a range of: DeviceSpan or std::span.
template <class View, class Kind>
class Buffer : public View {
 public:
  // Empty.
  Buffer() = default;

  Buffer(Buffer &&other) noexcept
      : View(std::exchange(other.view(), View())), memory_(std::move(other.memory_)) {}
  Buffer &operator=(Buffer &&other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }

  void swap(Buffer &other) noexcept {
    std::swap(view(), other.view());
    memory_.swap(other.memory_);
  }
  friend void swap(Buffer &left, Buffer &right) noexcept { left.swap(right); }

  // Gives the memory back now, and throws if that fails. Again does nothing.
  // Driver calls: those of the buffer's end.
  void close(Where where = Where::current()) {
    view() = View();
    memory_.close(where);
  }

  // Leaves the memory to the caller, who frees it: cuMemFree, cuMemFreeHost or cuMemHostUnregister.
  // Empty afterwards. No driver call.
  [[nodiscard]] CUdeviceptr release() noexcept {
    view() = View();
    memory_.set_context(ContextRef());
    return memory_.take();
  }

  // Whether this owns no memory.
  bool is_empty() const noexcept { return memory_.is_empty(); }
  // The driver that made the memory.
  Driver &driver() const noexcept { return memory_.driver(); }
  // The context that the memory is in, if it was told at creation.
  std::optional<ContextRef> context() const noexcept {
    return memory_.context().is_empty() ? std::nullopt : std::optional(memory_.context());
  }

 protected:
  Buffer(View view, CUdeviceptr address, Driver &driver) noexcept : View(view), memory_(address, driver) {}
  void set_context(ContextRef context) noexcept { memory_.set_context(context); }

 private:
  View &view() noexcept { return *this; }

  OwnedMemory<Kind> memory_;
};

}  // namespace detail

// Owns device memory; is a DeviceSpan. Not initialized.
template <class T>
class DeviceBuffer : public detail::Buffer<DeviceSpan<T>, detail::DeviceMemory> {
  using Base = detail::Buffer<DeviceSpan<T>, detail::DeviceMemory>;
  using Base::Base;

 public:
  DeviceBuffer() = default;

  // In the current context. Driver calls: cuMemAlloc; at the end cuMemFree.
  static DeviceBuffer create(std::size_t count, Driver &driver = cushim::driver(),
                             Where where = Where::current()) {
    CUdeviceptr address = 0;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemAlloc", where);
    detail::check(driver.cuMemAlloc(&address, bytes), "cuMemAlloc", where, detail::Through{&driver},
                  detail::Argument{"bytes", static_cast<long long>(bytes)});
    return DeviceBuffer(DeviceSpan<T>(DevicePtr<T>(address), count), address, driver);
  }
  // In a given context. Driver calls: push, cuMemAlloc, pop; at the end push, cuMemFree, pop.
  static DeviceBuffer create(ContextRef context, std::size_t count, Where where = Where::current()) {
    DeviceBuffer buffer =
        detail::in_context(context, where, [&] { return create(count, context.driver(), where); });
    buffer.set_context(context);
    return buffer;
  }
};

// Owns page-locked host memory; is a std::span. Not initialized.
template <class T>
class PinnedBuffer : public detail::Buffer<std::span<T>, detail::PinnedMemory> {
  using Base = detail::Buffer<std::span<T>, detail::PinnedMemory>;
  using Base::Base;

 public:
  PinnedBuffer() = default;

  // In the current context. Driver calls: cuMemHostAlloc; at the end cuMemFreeHost.
  static PinnedBuffer create(std::size_t count, PinnedFlags flags = PinnedFlags::none,
                             Driver &driver = cushim::driver(), Where where = Where::current()) {
    void *pointer = nullptr;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemHostAlloc", where);
    detail::check(driver.cuMemHostAlloc(&pointer, bytes, detail::number(flags)), "cuMemHostAlloc", where,
                  detail::Through{&driver}, detail::Argument{"bytes", static_cast<long long>(bytes)},
                  detail::Argument{"flags", detail::number(flags)});
    return PinnedBuffer(std::span<T>(static_cast<T *>(pointer), count), detail::number(pointer), driver);
  }
  // In a given context. Driver calls: push, cuMemHostAlloc, pop; at the end push, cuMemFreeHost, pop.
  static PinnedBuffer create(ContextRef context, std::size_t count, PinnedFlags flags = PinnedFlags::none,
                             Where where = Where::current()) {
    PinnedBuffer buffer =
        detail::in_context(context, where, [&] { return create(count, flags, context.driver(), where); });
    buffer.set_context(context);
    return buffer;
  }

  // The same memory as the device sees it. Driver calls: cuMemHostGetDevicePointer.
  DeviceSpan<T> device_span(Where where = Where::current()) const {
    CUdeviceptr address = 0;
    detail::check(this->driver().cuMemHostGetDevicePointer(&address, this->data(), 0),
                  "cuMemHostGetDevicePointer", where, detail::Through{&this->driver()},
                  detail::Address{"pinned memory", detail::number(this->data())});
    return {DevicePtr<T>(address), this->size()};
  }
  // The flags as the driver keeps them. Driver calls: cuMemHostGetFlags.
  PinnedFlags flags(Where where = Where::current()) const {
    unsigned flags = 0;
    detail::check(this->driver().cuMemHostGetFlags(&flags, this->data()), "cuMemHostGetFlags", where,
                  detail::Through{&this->driver()},
                  detail::Address{"pinned memory", detail::number(this->data())});
    return static_cast<PinnedFlags>(flags);
  }
};

// Keeps host memory of somebody else page-locked; is a std::span of it.
template <class T>
class RegisteredBuffer : public detail::Buffer<std::span<T>, detail::HostRegistration> {
  using Base = detail::Buffer<std::span<T>, detail::HostRegistration>;
  using Base::Base;

 public:
  RegisteredBuffer() = default;

  // In the current context. The memory must outlive this.
  // Driver calls: cuMemHostRegister; at the end cuMemHostUnregister.
  static RegisteredBuffer create(std::span<T> memory, RegisterFlags flags = RegisterFlags::none,
                                 Driver &driver = cushim::driver(), Where where = Where::current()) {
    void *const pointer = const_cast<std::remove_cv_t<T> *>(memory.data());
    detail::check(driver.cuMemHostRegister(pointer, memory.size_bytes(), detail::number(flags)),
                  "cuMemHostRegister", where, detail::Through{&driver},
                  detail::Address{"memory", detail::number(pointer)},
                  detail::Argument{"bytes", static_cast<long long>(memory.size_bytes())},
                  detail::Argument{"flags", detail::number(flags)});
    return RegisteredBuffer(memory, detail::number(pointer), driver);
  }

  // The same memory as the device sees it. Driver calls: cuMemHostGetDevicePointer.
  DeviceSpan<T> device_span(Where where = Where::current()) const {
    CUdeviceptr address = 0;
    detail::check(this->driver().cuMemHostGetDevicePointer(
                      &address, const_cast<std::remove_cv_t<T> *>(this->data()), 0),
                  "cuMemHostGetDevicePointer", where, detail::Through{&this->driver()},
                  detail::Address{"registered memory", detail::number(this->data())});
    return {DevicePtr<T>(address), this->size()};
  }
};

// Owns managed memory, which host and devices reach at one address; is a std::span. Not initialized.
template <class T>
class ManagedBuffer : public detail::Buffer<std::span<T>, detail::DeviceMemory> {
  using Base = detail::Buffer<std::span<T>, detail::DeviceMemory>;
  using Base::Base;

 public:
  ManagedBuffer() = default;

  // In the current context; attachment is global or host. Driver calls: cuMemAllocManaged; at the
  // end cuMemFree.
  static ManagedBuffer create(std::size_t count, MemoryAttachment attachment = MemoryAttachment::global,
                              Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUdeviceptr address = 0;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemAllocManaged", where);
    detail::check(driver.cuMemAllocManaged(&address, bytes, static_cast<unsigned>(attachment)),
                  "cuMemAllocManaged", where, detail::Through{&driver},
                  detail::Argument{"bytes", static_cast<long long>(bytes)},
                  detail::Argument{"attachment", static_cast<int>(attachment)});
    return ManagedBuffer(std::span<T>(static_cast<T *>(detail::host_pointer(address)), count), address,
                         driver);
  }

  // The same memory as the device sees it. No driver call.
  DeviceSpan<T> device_span() const noexcept {
    return {DevicePtr<T>(detail::number(this->data())), this->size()};
  }
};

// Rows of elements in device memory, each at a multiple of the pitch. Owns nothing.
template <class T>
struct DeviceSpan2D {
  DevicePtr<T> data;
  std::size_t width;   // elements of a row
  std::size_t height;  // rows
  std::size_t pitch;   // bytes from row to row
};

// Rows of elements in host memory. Owns nothing.
template <class T>
struct HostSpan2D {
  T *data;
  std::size_t width;
  std::size_t height;
  std::size_t pitch = width * sizeof(T);
};

// Slices of rows in device memory. Owns nothing.
template <class T>
struct DeviceSpan3D {
  DevicePtr<T> data;
  std::size_t width;
  std::size_t height;
  std::size_t depth;          // slices
  std::size_t pitch;          // bytes from row to row
  std::size_t rows = height;  // from slice to slice
};

// Slices of rows in host memory. Owns nothing.
template <class T>
struct HostSpan3D {
  T *data;
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  std::size_t pitch = width * sizeof(T);
  std::size_t rows = height;
};

// Owns device memory for rows, with the pitch that the device likes best; is a DeviceSpan2D.
template <class T>
class PitchedBuffer : public detail::Buffer<DeviceSpan2D<T>, detail::DeviceMemory> {
  using Base = detail::Buffer<DeviceSpan2D<T>, detail::DeviceMemory>;
  using Base::Base;

 public:
  PitchedBuffer() = default;

  // In the current context. Driver calls: cuMemAllocPitch; at the end cuMemFree.
  static PitchedBuffer create(std::size_t width, std::size_t height, Driver &driver = cushim::driver(),
                              Where where = Where::current()) {
    constexpr unsigned access =
        sizeof(T) == 8 || sizeof(T) == 16 ? sizeof(T) : 4;  // the driver knows 4, 8, 16
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    const std::size_t bytes = detail::bytes_of<T>(width, "cuMemAllocPitch", where);
    detail::check(driver.cuMemAllocPitch(&address, &pitch, bytes, height, access), "cuMemAllocPitch", where,
                  detail::Through{&driver}, detail::Argument{"width in bytes", static_cast<long long>(bytes)},
                  detail::Argument{"height", static_cast<long long>(height)});
    return PitchedBuffer(DeviceSpan2D<T>{DevicePtr<T>(address), width, height, pitch}, address, driver);
  }
};

inline namespace CUSHIM_DEFAULT_STREAM {

// Owns device memory that comes and goes in the order of a stream, from its device's current pool;
// is a DeviceSpan. Work that uses it elsewhere must be ordered after its allocation and before its
// end. The stream must outlive it.
template <class T>
class StreamBuffer : public DeviceSpan<T> {
 public:
  // Empty.
  StreamBuffer() = default;

  // Driver calls: cuMemAllocAsync; at the end cuMemFreeAsync in the same stream.
  static StreamBuffer create(const StreamRef &stream, std::size_t count, Where where = Where::current()) {
    CUdeviceptr address = 0;
    const std::size_t bytes = detail::bytes_of<T>(count, "cuMemAllocAsync", where);
    detail::check(stream.driver().cuMemAllocAsync(&address, bytes, stream.handle()), "cuMemAllocAsync", where,
                  stream, detail::Argument{"bytes", static_cast<long long>(bytes)});
    return StreamBuffer(DeviceSpan<T>(DevicePtr<T>(address), count), stream);
  }

  StreamBuffer(StreamBuffer &&other) noexcept : DeviceSpan<T>(other), stream_(other.stream_) {
    other.forget();
  }
  StreamBuffer &operator=(StreamBuffer &&other) noexcept {
    StreamBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~StreamBuffer() {
    if (!is_empty()) detail::report(free(), "cuMemFreeAsync", stream_, words());
  }

  void swap(StreamBuffer &other) noexcept {
    std::swap(static_cast<DeviceSpan<T> &>(*this), static_cast<DeviceSpan<T> &>(other));
    std::swap(stream_, other.stream_);
  }
  friend void swap(StreamBuffer &left, StreamBuffer &right) noexcept { left.swap(right); }

  // Frees now, in stream order, and throws if that fails. Again does nothing.
  // Driver calls: cuMemFreeAsync.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    const StreamRef stream = stream_;
    const detail::Address memory = words();
    const CUresult result = free();
    forget();
    detail::check(result, "cuMemFreeAsync", where, stream, memory);
  }

  // Leaves the memory to the caller, who frees it. Empty afterwards. No driver call.
  [[nodiscard]] CUdeviceptr release() noexcept {
    const CUdeviceptr address = this->data().address();
    forget();
    return address;
  }

  // The stream in whose order the memory is freed; another may be set. No driver call.
  StreamRef stream() const noexcept { return stream_; }
  void set_stream(const StreamRef &stream) noexcept { stream_ = stream; }

  bool is_empty() const noexcept { return stream_.is_empty(); }

 private:
  StreamBuffer(DeviceSpan<T> span, const StreamRef &stream) noexcept : DeviceSpan<T>(span), stream_(stream) {}
  CUresult free() noexcept {
    return stream_.driver().cuMemFreeAsync(this->data().address(), stream_.handle());
  }
  detail::Address words() const noexcept {
    return {"memory", static_cast<std::uintptr_t>(this->data().address())};
  }
  void forget() noexcept {
    static_cast<DeviceSpan<T> &>(*this) = DeviceSpan<T>();
    stream_ = StreamRef();
  }

  StreamRef stream_;
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
