// SPDX-License-Identifier: Apache-2.0
// Memory resources, for containers and allocators that take them:
//
//   PinnedMemoryResource, ManagedMemoryResource   also a std::pmr::memory_resource: the host can access them
//   DeviceMemoryResource                          device memory
//   PoolMemoryResource                            memory of a pool, in stream order
//
// Each meets the concepts of CCCL's <cuda/memory_resource>, and has its properties
// (cuda::mr::device_accessible, host_accessible), without including it: synchronous_resource by
// allocate_sync() and deallocate_sync(), and resource by allocate(stream, ...) and deallocate(stream, ...) of
// a pool; in CCCL 3.0 resource and async_resource. A cuda::stream_ref is accepted where a stream is.
//
// Addresses are void pointers, as these interfaces demand, although the host cannot access device memory.
// Alignments up to 256 bytes are supported. A deallocation that fails calls the unreported handler.
#pragma once

#include <cushim/memory.hpp>
#include <cushim/memory_pool.hpp>

#include <algorithm>
#include <bit>
#include <memory_resource>
#include <string_view>
#include <type_traits>

namespace cushim {
inline namespace v1 {
namespace detail {

inline constexpr std::size_t kResourceAlignment = 256;  // what the driver guarantees for each allocation

// The driver calls of each kind of memory.
struct DeviceAllocation : DeviceMemory {
  static constexpr const char *kAllocate = "cuMemAlloc";
  static constexpr bool is_host_accessible = false;
  static CUresult allocate(Driver &driver, void **memory, std::size_t bytes) {
    CUdeviceptr address = 0;
    const CUresult result = driver.cuMemAlloc(&address, bytes);
    *memory = host_pointer(address);
    return result;
  }
};
struct PinnedAllocation : PinnedMemory {
  static constexpr const char *kAllocate = "cuMemHostAlloc";
  static constexpr bool is_host_accessible = true;
  static CUresult allocate(Driver &driver, void **memory, std::size_t bytes) {
    return driver.cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  }
};
struct ManagedAllocation : DeviceMemory {
  static constexpr const char *kAllocate = "cuMemAllocManaged";
  static constexpr bool is_host_accessible = true;
  static CUresult allocate(Driver &driver, void **memory, std::size_t bytes) {
    CUdeviceptr address = 0;
    const CUresult result = driver.cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
    *memory = host_pointer(address);
    return result;
  }
};

inline void require_alignment(std::size_t alignment, const char *routine, Where where) {
  if (!std::has_single_bit(alignment) || alignment > kResourceAlignment)
    fail(CUDA_ERROR_INVALID_VALUE, routine, where, Argument{"alignment", static_cast<long long>(alignment)});
}

// Allocates memory of one kind, in a given context or in the current one.
template <class Kind>
class MemoryResource {
 public:
  // Allocates bytes; 1 for 0 bytes. Throws OUT_OF_MEMORY. Driver calls: that of the kind; in a given context
  // between push and pop.
  void *allocate_sync(std::size_t bytes, std::size_t alignment = kResourceAlignment) {
    const Where where;
    require_alignment(alignment, Kind::kAllocate, where);
    const auto allocate = [&] {
      void *memory = nullptr;
      check(Kind::allocate(*driver_, &memory, std::max<std::size_t>(bytes, 1)), Kind::kAllocate, where,
            Through{driver_}, Argument{"bytes", static_cast<long long>(bytes)});
      return OwnedMemory<Kind>(number(memory), *driver_);  // frees it if the pop fails
    };
    OwnedMemory<Kind> owner = context_.is_empty() ? allocate() : in_context(context_, where, allocate);
    return host_pointer(owner.release());
  }
  // Frees memory of allocate_sync(). Driver calls: that of the kind; in a given context between push and pop.
  void deallocate_sync(void *memory, std::size_t, std::size_t = kResourceAlignment) noexcept {
    OwnedMemory<Kind> owner(number(memory), *driver_);
    if (!context_.is_empty()) owner.set_home(HomeContext(context_));
  }

  friend bool operator==(const MemoryResource &left, const MemoryResource &right) noexcept {
    return left.driver_ == right.driver_ && left.context_ == right.context_;
  }

 protected:
  // The current context of each call.
  explicit MemoryResource(Driver &driver) noexcept : driver_(&driver) {}
  // A given context, which must outlive the memory.
  explicit MemoryResource(const ContextRef &context) noexcept
      : driver_(&context.driver()), context_(context) {}

 private:
  Driver *driver_;
  ContextRef context_;
};

// The same as a std::pmr::memory_resource, for memory that the host can access.
template <class Kind>
class HostMemoryResource : public MemoryResource<Kind>, public std::pmr::memory_resource {
 public:
  friend bool operator==(const HostMemoryResource &left, const HostMemoryResource &right) noexcept {
    return static_cast<const MemoryResource<Kind> &>(left) == right;
  }

 protected:
  using MemoryResource<Kind>::MemoryResource;

 private:
  void *do_allocate(std::size_t bytes, std::size_t alignment) override {
    return this->allocate_sync(bytes, alignment);
  }
  void do_deallocate(void *memory, std::size_t bytes, std::size_t alignment) override {
    this->deallocate_sync(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
    const auto *const same = dynamic_cast<const HostMemoryResource *>(&other);
    return same != nullptr && *this == *same;
  }
};

// Returns whether a type has this name: properties of CCCL are recognized by it, so that its header is not
// needed.
template <class T>
consteval bool is_named(std::string_view name) {
  const std::string_view function = __PRETTY_FUNCTION__;  // has "T = cuda::mr::device_accessible]" or "...;"
  const std::size_t at = function.find(name);
  if (at == std::string_view::npos) return false;
  const char next = function[at + name.size()];
  return next == ']' || next == ';';
}
template <class Kind, class Property>
inline constexpr bool has_property = is_named<Property>("::device_accessible") ||
                                     (Kind::is_host_accessible && is_named<Property>("::host_accessible"));

template <class Kind, class Property>
constexpr std::enable_if_t<has_property<Kind, Property>> get_property(const MemoryResource<Kind> &,
                                                                      Property) noexcept {}

}  // namespace detail

// Page-locked host memory. Driver calls: cuMemHostAlloc, cuMemFreeHost.
class PinnedMemoryResource : public detail::HostMemoryResource<detail::PinnedAllocation> {
 public:
  // Allocates in the context that is current at each call.
  explicit PinnedMemoryResource(Driver &driver = cushim::driver()) noexcept : HostMemoryResource(driver) {}
  // Allocates in a given context, which must outlive the memory.
  explicit PinnedMemoryResource(const ContextRef &context) noexcept : HostMemoryResource(context) {}
};

// Managed memory. Driver calls: cuMemAllocManaged, cuMemFree.
class ManagedMemoryResource : public detail::HostMemoryResource<detail::ManagedAllocation> {
 public:
  explicit ManagedMemoryResource(Driver &driver = cushim::driver()) noexcept : HostMemoryResource(driver) {}
  explicit ManagedMemoryResource(const ContextRef &context) noexcept : HostMemoryResource(context) {}
};

// Device memory. Driver calls: cuMemAlloc, cuMemFree.
class DeviceMemoryResource : public detail::MemoryResource<detail::DeviceAllocation> {
 public:
  explicit DeviceMemoryResource(Driver &driver = cushim::driver()) noexcept : MemoryResource(driver) {}
  explicit DeviceMemoryResource(const ContextRef &context) noexcept : MemoryResource(context) {}

  // The names of CCCL 3.0.
  void *allocate(std::size_t bytes, std::size_t alignment = detail::kResourceAlignment) {
    return allocate_sync(bytes, alignment);
  }
  void deallocate(void *memory, std::size_t bytes,
                  std::size_t alignment = detail::kResourceAlignment) noexcept {
    deallocate_sync(memory, bytes, alignment);
  }
};

namespace detail {
inline namespace CUSHIM_DEFAULT_STREAM {

// A stream of cushim, a raw stream, or a cuda::stream_ref.
template <class T>
concept AnyStream = std::is_convertible_v<const T &, StreamRef> || requires(const T &stream) {
  { stream.get() } -> std::convertible_to<CUstream>;
};

template <AnyStream T>
StreamRef as_stream(const T &stream, Driver &driver) noexcept {
  if constexpr (std::is_convertible_v<const T &, CUstream>)
    return StreamRef::from_handle(stream, driver);
  else if constexpr (std::is_convertible_v<const T &, StreamRef>)
    return stream;
  else
    return StreamRef::from_handle(stream.get(), driver);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

// Memory of a pool, which must outlive this.
class PoolMemoryResource {
 public:
  explicit PoolMemoryResource(const MemoryPoolRef &pool) noexcept : pool_(pool) {}

  // Allocates bytes in the order of a stream. Throws OUT_OF_MEMORY. Driver calls: cuMemAllocFromPoolAsync.
  template <detail::AnyStream AnyStream>
  void *allocate(const AnyStream &stream, std::size_t bytes,
                 std::size_t alignment = detail::kResourceAlignment) {
    return allocate_in(detail::as_stream(stream, pool_.driver()), bytes, alignment);
  }
  // Frees memory in the order of a stream. Driver calls: cuMemFreeAsync.
  template <detail::AnyStream AnyStream>
  void deallocate(const AnyStream &stream, void *memory, std::size_t,
                  std::size_t = detail::kResourceAlignment) noexcept {
    free_in(detail::as_stream(stream, pool_.driver()), memory);
  }

  // Allocates bytes that any stream may use at once. Driver calls: cuMemAllocFromPoolAsync,
  // cuStreamSynchronize of the default stream.
  void *allocate_sync(std::size_t bytes, std::size_t alignment = detail::kResourceAlignment) {
    const StreamRef stream = default_stream(pool_.driver());
    void *const memory = allocate_in(stream, bytes, alignment);
    if (const CUresult result = stream.driver().cuStreamSynchronize(stream.handle());
        result != CUDA_SUCCESS) {
      free_in(stream, memory);
      detail::fail(result, "cuStreamSynchronize", Where{}, stream);
    }
    return memory;
  }
  // Frees memory that no stream uses any more. Driver calls: cuMemFreeAsync in the default stream.
  void deallocate_sync(void *memory, std::size_t, std::size_t = detail::kResourceAlignment) noexcept {
    free_in(default_stream(pool_.driver()), memory);
  }

  // The names of CCCL 3.0.
  void *allocate(std::size_t bytes, std::size_t alignment) { return allocate_sync(bytes, alignment); }
  void deallocate(void *memory, std::size_t bytes, std::size_t alignment) noexcept {
    deallocate_sync(memory, bytes, alignment);
  }
  template <detail::AnyStream AnyStream>
  void *allocate_async(std::size_t bytes, std::size_t alignment, const AnyStream &stream) {
    return allocate(stream, bytes, alignment);
  }
  template <detail::AnyStream AnyStream>
  void deallocate_async(void *memory, std::size_t bytes, std::size_t alignment,
                        const AnyStream &stream) noexcept {
    deallocate(stream, memory, bytes, alignment);
  }

  friend bool operator==(const PoolMemoryResource &left, const PoolMemoryResource &right) noexcept {
    return left.pool_ == right.pool_;
  }
  // Declares that a device can access the memory (cuda::mr::device_accessible).
  template <class Property>
  friend constexpr std::enable_if_t<detail::is_named<Property>("::device_accessible")> get_property(
      const PoolMemoryResource &, Property) noexcept {}

 private:
  void *allocate_in(const StreamRef &stream, std::size_t bytes, std::size_t alignment) {
    constexpr const char *routine = "cuMemAllocFromPoolAsync";
    detail::require_alignment(alignment, routine, Where{});
    CUdeviceptr address = 0;
    detail::check(stream.driver().cuMemAllocFromPoolAsync(&address, std::max<std::size_t>(bytes, 1),
                                                          pool_.handle(), stream.handle()),
                  routine, Where{}, stream, pool_, detail::Argument{"bytes", static_cast<long long>(bytes)});
    return detail::host_pointer(address);
  }
  static void free_in(const StreamRef &stream, void *memory) noexcept {
    const CUdeviceptr address = detail::number(memory);
    detail::report(stream.driver().cuMemFreeAsync(address, stream.handle()), "cuMemFreeAsync", stream,
                   detail::Address{"memory", static_cast<std::uintptr_t>(address)});
  }

  MemoryPoolRef pool_;
};

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
