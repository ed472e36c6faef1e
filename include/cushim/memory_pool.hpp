// SPDX-License-Identifier: Apache-2.0
// Memory pools: memory for allocations in stream order, of a device or of the host.
//
//   MemoryPool pool = MemoryPool::create(device, {.max_size = 1 << 30});
//   pool.set(pool_attribute::release_threshold, 64 << 20);
//   auto buffer = StreamBuffer<float>::create(pool, stream, 1000);
//
// Functions that do not own a pool take a MemoryPoolRef.
#pragma once

#include <cushim/detail/owner.hpp>
#include <cushim/memory.hpp>
#include <cushim/memory_access.hpp>

#include <cstring>

namespace cushim {
inline namespace v1 {

// An attribute of a pool with a value of type T.
template <class T>
struct PoolAttribute {
  int number;  // its CUmemPool_attribute
};
// An attribute that the program can set.
template <class T>
struct SettablePoolAttribute : PoolAttribute<T> {};
// A high-water mark in bytes, which the program can reset to the current value.
struct PoolHighWaterMark : PoolAttribute<std::uint64_t> {};

// Sizes are in bytes.
namespace pool_attribute {

// If true, a stream that waits for a free, for example through an event, can reuse the freed memory.
inline constexpr SettablePoolAttribute<bool> reuse_follow_event_dependencies{{1}};
// If true, any stream can reuse freed memory once the free has completed.
inline constexpr SettablePoolAttribute<bool> reuse_allow_opportunistic{{2}};
// If true, the driver may make an allocation wait for a free in another stream.
inline constexpr SettablePoolAttribute<bool> reuse_allow_internal_dependencies{{3}};
// The reserved bytes that the pool keeps when a stream, event or context is synchronized.
inline constexpr SettablePoolAttribute<std::uint64_t> release_threshold{{4}};
inline constexpr PoolAttribute<std::uint64_t> reserved_current{5};
inline constexpr PoolHighWaterMark reserved_high{{6}};
inline constexpr PoolAttribute<std::uint64_t> used_current{7};
inline constexpr PoolHighWaterMark used_high{{8}};

}  // namespace pool_attribute

// How other processes can open a pool.
enum class PoolHandleType {
  none = 0,
  file_descriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
};

// Options of a pool.
struct MemoryPoolOptions {
  std::size_t max_size = 0;  // bytes; 0: no limit. Drivers before 12.2 return INVALID_VALUE for others.
  PoolHandleType handle_type = PoolHandleType::none;
};

// The calls that MemoryPoolRef and MemoryPool have in common.
template <class Self>
class MemoryPoolCalls : public detail::NounBase<Self, CUmemoryPool> {
 public:
  // Returns an attribute, as the attribute's type. Driver calls: cuMemPoolGetAttribute.
  template <class T>
  T attribute(PoolAttribute<T> which, Where where = Where::current()) const {
    DriverType<T> value{};
    detail::check(this->driver().cuMemPoolGetAttribute(this->handle(), attribute_of(which), &value),
                  "cuMemPoolGetAttribute", where, this->self(), detail::Argument{"attribute", which.number});
    return static_cast<T>(value);
  }

  // Sets an attribute. Driver calls: cuMemPoolSetAttribute.
  template <class T>
  void set(SettablePoolAttribute<T> which, std::type_identity_t<T> wanted,
           Where where = Where::current()) const {
    set_raw(which, static_cast<DriverType<T>>(wanted), where);
  }
  // Sets a high-water mark to the current value. Driver calls: cuMemPoolSetAttribute.
  void reset(PoolHighWaterMark which, Where where = Where::current()) const {
    set_raw(which, DriverType<std::uint64_t>{0}, where);
  }

  // Returns unused memory to the device or the host, but keeps at least `bytes` reserved. Driver calls:
  // cuMemPoolTrimTo.
  void trim_to(std::size_t bytes, Where where = Where::current()) const {
    detail::check(this->driver().cuMemPoolTrimTo(this->handle(), bytes), "cuMemPoolTrimTo", where,
                  this->self(), detail::Argument{"bytes", static_cast<long long>(bytes)});
  }

  // Returns how a device may access the pool's memory. Driver calls: cuMemPoolGetAccess.
  MemoryAccess access(Device device, Where where = Where::current()) const {
    detail::require(device, "cuMemPoolGetAccess", where);
    CUmemLocation location = detail::location_of(device);
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    detail::check(this->driver().cuMemPoolGetAccess(&flags, this->handle(), &location), "cuMemPoolGetAccess",
                  where, this->self(), device);
    return static_cast<MemoryAccess>(flags);
  }
  // Sets how a device may access the pool's memory, including the memory that is already allocated. Driver
  // calls: cuMemPoolSetAccess.
  void set_access(Device device, MemoryAccess wanted, Where where = Where::current()) const {
    detail::require(device, "cuMemPoolSetAccess", where);
    const CUmemAccessDesc access = detail::access_of(device, wanted);
    detail::check(this->driver().cuMemPoolSetAccess(this->handle(), &access, 1), "cuMemPoolSetAccess", where,
                  this->self(), device, detail::Argument{"access", static_cast<int>(wanted)});
  }

  static constexpr detail::NamedCall kDestroy{"cuMemPoolDestroy", &Driver::cuMemPoolDestroy};

 protected:
  MemoryPoolCalls() = default;
  MemoryPoolCalls(const MemoryPoolCalls &) = default;
  MemoryPoolCalls &operator=(const MemoryPoolCalls &) = default;

 private:
  // The type in which the driver passes a value: int, or cuuint64_t.
  template <class T>
  using DriverType = std::conditional_t<std::is_same_v<T, bool>, int, cuuint64_t>;

  template <class T>
  static CUmemPool_attribute attribute_of(PoolAttribute<T> which) {
    return static_cast<CUmemPool_attribute>(which.number);
  }
  template <class T, class Value>
  void set_raw(PoolAttribute<T> which, Value value, Where where) const {
    detail::check(this->driver().cuMemPoolSetAttribute(this->handle(), attribute_of(which), &value),
                  "cuMemPoolSetAttribute", where, this->self(), detail::Argument{"attribute", which.number},
                  detail::Argument{"value", static_cast<long long>(value)});
  }
};

// A reference to a memory pool. Owns nothing.
class MemoryPoolRef : public detail::Reference<MemoryPoolCalls<MemoryPoolRef>> {
 public:
  // Empty: no pool.
  MemoryPoolRef() = default;

  // Refers to a raw pool of the current driver; a cudaMemPool_t converts, too. The literals 0 and nullptr do
  // not compile.
  MemoryPoolRef(CUmemoryPool handle) noexcept : Reference(handle, cushim::driver()) {}
  MemoryPoolRef(std::nullptr_t) = delete;
  MemoryPoolRef(int) = delete;

  // Returns the pool that a device has from the start. Driver calls: cuDeviceGetDefaultMemPool.
  static MemoryPoolRef default_of(Device device, Where where = Where::current()) {
    CUmemoryPool handle = nullptr;
    detail::check(device.driver().cuDeviceGetDefaultMemPool(&handle, device.handle()),
                  "cuDeviceGetDefaultMemPool", where, device);
    return from_handle(handle, device.driver());
  }
  // Returns the pool from which StreamBuffers without a pool are allocated. Driver calls: cuDeviceGetMemPool.
  static MemoryPoolRef current_of(Device device, Where where = Where::current()) {
    CUmemoryPool handle = nullptr;
    detail::check(device.driver().cuDeviceGetMemPool(&handle, device.handle()), "cuDeviceGetMemPool", where,
                  device);
    return from_handle(handle, device.driver());
  }
};

// Returns "memory pool 0x7f10" or "an empty memory pool".
inline std::string to_text(const MemoryPoolRef &pool) { return detail::noun_text("memory pool", pool); }

// Makes a pool of the device its current pool. If the pool is destroyed, the default pool is current again.
// Driver calls: cuDeviceSetMemPool.
inline void set_current_pool(Device device, const MemoryPoolRef &pool, Where where = Where::current()) {
  detail::require(pool, "cuDeviceSetMemPool", where);
  detail::check(device.driver().cuDeviceSetMemPool(device.handle(), pool.handle()), "cuDeviceSetMemPool",
                where, device, pool);
}

// Owns a memory pool. The driver keeps a destroyed pool until its last allocation is freed.
class MemoryPool : public detail::Owner<MemoryPool, MemoryPoolRef, MemoryPoolCalls> {
 public:
  // Creates a pool of device memory. Needs no context. Driver calls: cuMemPoolCreate; at the end
  // cuMemPoolDestroy.
  static MemoryPool create(Device device, const MemoryPoolOptions &options = {},
                           Where where = Where::current()) {
    detail::require(device, "cuMemPoolCreate", where);
    return create_at(CU_MEM_LOCATION_TYPE_DEVICE, device.handle(), options, device.driver(), where);
  }
  // Creates a pool of page-locked host memory. A device needs set_access() to use it. Needs CUDA 12.2. Driver
  // calls: those of create().
  static MemoryPool create_on_host(const MemoryPoolOptions &options = {}, Driver &driver = cushim::driver(),
                                   Where where = Where::current()) {
    return create_at(detail::kHostLocation, 0, options, driver, where);
  }
  // The same for the memory of one NUMA node.
  static MemoryPool create_on_host_node(int node, const MemoryPoolOptions &options = {},
                                        Driver &driver = cushim::driver(), Where where = Where::current()) {
    return create_at(detail::kHostNodeLocation, node, options, driver, where);
  }

 private:
  using Owner::Owner;

  static MemoryPool create_at(int type, int id, const MemoryPoolOptions &options, Driver &driver,
                              Where where) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = static_cast<CUmemAllocationHandleType>(options.handle_type);
    properties.location.type = static_cast<CUmemLocationType>(type);
    properties.location.id = id;
    // The member maxSize, which headers before 12.2 call reserved.
    constexpr std::size_t offset = offsetof(CUmemPoolProps, win32SecurityAttributes) + sizeof(void *);
    std::memcpy(reinterpret_cast<char *>(&properties) + offset, &options.max_size, sizeof options.max_size);
    CUmemoryPool handle = nullptr;
    detail::check(driver.cuMemPoolCreate(&handle, &properties), "cuMemPoolCreate", where,
                  detail::Through{&driver}, detail::Argument{"location type", type},
                  detail::Argument{"location id", id},
                  detail::Argument{"max_size", static_cast<long long>(options.max_size)});
    return MemoryPool(handle, driver, 0);
  }
};

inline namespace CUSHIM_DEFAULT_STREAM {

template <class T>
StreamBuffer<T> StreamBuffer<T>::create(const MemoryPoolRef &pool, const StreamRef &stream, std::size_t count,
                                        Where where) {
  if (count == 0) return {};
  constexpr const char *routine = "cuMemAllocFromPoolAsync";
  detail::require(pool, routine, where);
  CUdeviceptr address = 0;
  const std::size_t bytes = detail::bytes_of<T>(count, routine, where);
  detail::check(stream.driver().cuMemAllocFromPoolAsync(&address, bytes, pool.handle(), stream.handle()),
                routine, where, stream, pool, detail::Argument{"bytes", static_cast<long long>(bytes)});
  return StreamBuffer(DeviceSpan<T>(DevicePtr<T>(address), count), stream);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
