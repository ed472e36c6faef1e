// SPDX-License-Identifier: Apache-2.0
// Physical memory of a device, without an address. <cushim/virtual_memory.hpp> maps it to addresses. The type
// says what it can do:
//
//   PhysicalMemory            memory of this process
//   ShareablePhysicalMemory   can be exported to other processes as a file descriptor
//
// Functions that do not own physical memory take a PhysicalMemoryRef.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/detail/owner.hpp>
#include <cushim/device_ptr.hpp>
#include <cushim/memory_access.hpp>

#include <unistd.h>

namespace cushim {
inline namespace v1 {

// The unit of sizes and addresses: minimum is what the driver requires, recommended is best for performance.
enum class Granularity {
  minimum = CU_MEM_ALLOC_GRANULARITY_MINIMUM,
  recommended = CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
};

// Options of physical memory.
struct PhysicalMemoryOptions {
  bool gpu_direct_rdma = false;  // network cards and other devices may access it
};

// Owns a file descriptor that stands for physical memory. Send it to another process with SCM_RIGHTS, or
// inherit it. The memory exists until all descriptors and handles of it are closed and all mappings are gone.
class SharedMemoryFd {
 public:
  // Empty.
  SharedMemoryFd() = default;
  // Takes ownership of a descriptor, for example one that was received. No driver call.
  static SharedMemoryFd adopt(int descriptor) noexcept { return SharedMemoryFd(descriptor); }

  SharedMemoryFd(SharedMemoryFd &&other) noexcept : descriptor_(other.release()) {}
  SharedMemoryFd &operator=(SharedMemoryFd &&other) noexcept {
    SharedMemoryFd(std::move(other)).swap(*this);
    return *this;
  }
  ~SharedMemoryFd() { close(); }

  void swap(SharedMemoryFd &other) noexcept { std::swap(descriptor_, other.descriptor_); }
  friend void swap(SharedMemoryFd &left, SharedMemoryFd &right) noexcept { left.swap(right); }

  // Returns the descriptor; -1 if this is empty.
  int get() const noexcept { return descriptor_; }
  bool is_empty() const noexcept { return descriptor_ < 0; }
  // Returns the descriptor, which the caller must close, and becomes empty.
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  // Closes the descriptor now. Does nothing if this is empty. No driver call.
  void close() noexcept {
    if (!is_empty()) ::close(release());
  }

 private:
  explicit SharedMemoryFd(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

// The calls that PhysicalMemoryRef, PhysicalMemory and ShareablePhysicalMemory have in common.
template <class Self>
class PhysicalMemoryCalls : public detail::NounBase<Self, CUmemGenericAllocationHandle> {
 public:
  // Returns the properties that the memory was created with. Driver calls:
  // cuMemGetAllocationPropertiesFromHandle.
  CUmemAllocationProp properties(Where where = Where::current()) const {
    CUmemAllocationProp properties{};
    detail::check(this->driver().cuMemGetAllocationPropertiesFromHandle(&properties, this->handle()),
                  "cuMemGetAllocationPropertiesFromHandle", where, this->self());
    return properties;
  }

  static constexpr const char *kNoun = "physical memory";
  static constexpr detail::NamedCall kDestroy{"cuMemRelease", &Driver::cuMemRelease};
};

// A reference to physical memory. Owns nothing.
using PhysicalMemoryRef = detail::HandleRef<PhysicalMemoryCalls>;

namespace detail {

// The base of classes that own physical memory. handle_types are those that the type Self can be exported as.
template <class Self, int handle_types>
class PhysicalMemoryOwner : public Owner<Self, PhysicalMemoryRef, PhysicalMemoryCalls> {
 public:
  // Returns the unit in bytes of sizes of physical memory, and of sizes and addresses of its mappings. Driver
  // calls: cuMemGetAllocationGranularity.
  static std::size_t granularity(Device device, Granularity which = Granularity::minimum,
                                 const PhysicalMemoryOptions &options = {}, Where where = Where::current()) {
    constexpr const char *routine = "cuMemGetAllocationGranularity";
    require(device, routine, where);
    const CUmemAllocationProp properties = properties_at(location_of(device), options);
    std::size_t bytes = 0;
    check(device.driver().cuMemGetAllocationGranularity(&bytes, &properties,
                                                        static_cast<CUmemAllocationGranularity_flags>(which)),
          routine, where, device);
    return bytes;
  }

  // Allocates bytes of a device, a multiple of granularity(). Needs no context. Throws OUT_OF_MEMORY. Driver
  // calls: cuMemCreate; at the end cuMemRelease.
  static Self create(Device device, std::size_t bytes, const PhysicalMemoryOptions &options = {},
                     Where where = Where::current()) {
    require(device, "cuMemCreate", where);
    return create_at(location_of(device), bytes, options, device.driver(), where);
  }
  // Allocates memory of a NUMA node of the host. Needs CUDA 12.2. Driver calls: those of create().
  static Self create_on_host_node(int node, std::size_t bytes, Driver &driver = cushim::driver(),
                                  Where where = Where::current()) {
    CUmemLocation location{};
    location.type = static_cast<CUmemLocationType>(kHostNodeLocation);
    location.id = node;
    return create_at(location, bytes, {}, driver, where);
  }

 protected:
  PhysicalMemoryOwner() = default;
  using PhysicalMemoryOwner::Owner::Owner;

 private:
  static CUmemAllocationProp properties_at(CUmemLocation location, const PhysicalMemoryOptions &options) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
    properties.location = location;
    properties.allocFlags.gpuDirectRDMACapable = options.gpu_direct_rdma ? 1 : 0;
    return properties;
  }
  static Self create_at(CUmemLocation location, std::size_t bytes, const PhysicalMemoryOptions &options,
                        Driver &driver, Where where) {
    const CUmemAllocationProp properties = properties_at(location, options);
    CUmemGenericAllocationHandle handle = 0;
    check(driver.cuMemCreate(&handle, bytes, &properties, 0), "cuMemCreate", where, Through{&driver},
          Argument{"bytes", static_cast<long long>(bytes)},
          Argument{"location type", static_cast<int>(location.type)}, Argument{"location id", location.id});
    return Self(handle, driver, 0);
  }
};

}  // namespace detail

// Owns physical memory that stays in this process. Mappings keep the memory alive when the owner is
// destroyed.
class PhysicalMemory : public detail::PhysicalMemoryOwner<PhysicalMemory, CU_MEM_HANDLE_TYPE_NONE> {
 public:
  // Returns the physical memory behind a mapped address. Throws INVALID_VALUE if the address is not mapped.
  // Driver calls: cuMemRetainAllocationHandle; at the end cuMemRelease.
  template <class T>
  static PhysicalMemory retain(DevicePtr<T> address, Driver &driver = cushim::driver(),
                               Where where = Where::current()) {
    CUmemGenericAllocationHandle handle = 0;
    detail::check(driver.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void *>(address.address())),
                  "cuMemRetainAllocationHandle", where, detail::Through{&driver},
                  detail::Address{"address", static_cast<std::uintptr_t>(address.address())});
    return PhysicalMemory(handle, driver, 0);
  }

 private:
  friend PhysicalMemoryOwner;
  using PhysicalMemoryOwner::PhysicalMemoryOwner;
};

// Owns physical memory that can be exported to other processes.
class ShareablePhysicalMemory
    : public detail::PhysicalMemoryOwner<ShareablePhysicalMemory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR> {
 public:
  // Returns a new descriptor of the memory. Driver calls: cuMemExportToShareableHandle.
  SharedMemoryFd export_fd(Where where = Where::current()) const {
    int descriptor = -1;
    detail::check(driver().cuMemExportToShareableHandle(&descriptor, handle(),
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  "cuMemExportToShareableHandle", where, ref());
    return SharedMemoryFd::adopt(descriptor);
  }

  // Opens memory by a descriptor, of this process or of another one. The descriptor may be closed afterwards.
  // The driver does not tell the size of the memory: send it along. Throws INVALID_VALUE for a descriptor of
  // anything else. Driver calls: cuMemImportFromShareableHandle; at the end cuMemRelease.
  static ShareablePhysicalMemory import(const SharedMemoryFd &descriptor, Driver &driver = cushim::driver(),
                                        Where where = Where::current()) {
    CUmemGenericAllocationHandle handle = 0;
    detail::check(driver.cuMemImportFromShareableHandle(
                      &handle, reinterpret_cast<void *>(static_cast<std::intptr_t>(descriptor.get())),
                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                  "cuMemImportFromShareableHandle", where, detail::Through{&driver},
                  detail::Argument{"descriptor", descriptor.get()});
    return ShareablePhysicalMemory(handle, driver, 0);
  }

 private:
  friend PhysicalMemoryOwner;
  using PhysicalMemoryOwner::PhysicalMemoryOwner;
};

}  // namespace v1
}  // namespace cushim
