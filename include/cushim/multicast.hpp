// SPDX-License-Identifier: Apache-2.0
// Multicast objects: one range of addresses for memory of several devices, which the switches between them
// write and reduce at the same time.
//
//   const auto object = MulticastObject::create(2, bytes);
//   object.add(Device::get(0));
//   object.add(Device::get(1));
//   object.bind(memory_of_0, bytes);
//   object.bind(memory_of_1, bytes);
//   const Mapping mapping = Mapping::create(range, object.memory());
//
// Needs CUDA 12.1.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/virtual_memory.hpp>

#if CUDA_VERSION >= 12010

namespace cushim {
inline namespace v1 {

// Owns a multicast object. Its handle is mapped like that of physical memory.
class MulticastObject : public detail::Owner<MulticastObject, PhysicalMemoryRef, PhysicalMemoryCalls> {
 public:
  // Returns the unit in bytes of sizes and offsets. Driver calls: cuMulticastGetGranularity.
  static std::size_t granularity(unsigned devices, std::size_t bytes,
                                 Granularity which = Granularity::minimum, Driver &driver = cushim::driver(),
                                 Where where = Where::current()) {
    const CUmulticastObjectProp properties = properties_of(devices, bytes);
    return detail::ask<std::size_t>(detail::Through{&driver}, "cuMulticastGetGranularity", where,
                                    [&](std::size_t *out) {
                                      return driver.cuMulticastGetGranularity(
                                          out, &properties, static_cast<CUmulticastGranularity_flags>(which));
                                    });
  }
  // Creates an object for this number of devices, with this number of bytes of each. Driver calls:
  // cuMulticastCreate; at the end cuMemRelease.
  static MulticastObject create(unsigned devices, std::size_t bytes, Driver &driver = cushim::driver(),
                                Where where = Where::current()) {
    const CUmulticastObjectProp properties = properties_of(devices, bytes);
    CUmemGenericAllocationHandle handle = 0;
    detail::check(driver.cuMulticastCreate(&handle, &properties), "cuMulticastCreate", where,
                  detail::Through{&driver}, detail::Argument{"devices", devices},
                  detail::Argument{"bytes", static_cast<long long>(bytes)});
    return MulticastObject(handle, driver, 0);
  }

  // Returns the object as memory for Mapping::create(). No driver call.
  const PhysicalMemoryRef &memory() const noexcept { return ref(); }

  // Adds a device. All devices must be added before memory is bound. Driver calls: cuMulticastAddDevice.
  void add(Device device, Where where = Where::current()) const {
    detail::require(device, "cuMulticastAddDevice", where);
    detail::check(driver().cuMulticastAddDevice(handle(), device.handle()), "cuMulticastAddDevice", where,
                  ref(), device);
  }
  // Binds bytes of physical memory of one of the devices. Offsets are in bytes. Driver calls:
  // cuMulticastBindMem.
  void bind(const PhysicalMemoryRef &memory, std::size_t bytes, std::size_t offset = 0,
            std::size_t memory_offset = 0, Where where = Where::current()) const {
    detail::require(memory, "cuMulticastBindMem", where);
    detail::check(driver().cuMulticastBindMem(handle(), offset, memory.handle(), memory_offset, bytes, 0),
                  "cuMulticastBindMem", where, ref(), memory,
                  detail::Argument{"bytes", static_cast<long long>(bytes)});
  }
  // Binds memory by the addresses to which it is mapped. Driver calls: cuMulticastBindAddr.
  void bind(const ReservedRange &range, std::size_t offset = 0, Where where = Where::current()) const {
    detail::require(range, "cuMulticastBindAddr", where);
    detail::check(driver().cuMulticastBindAddr(handle(), offset, range.base(), range.size(), 0),
                  "cuMulticastBindAddr", where, ref(), range);
  }
  // Unbinds bytes of a device. Driver calls: cuMulticastUnbind.
  void unbind(Device device, std::size_t offset, std::size_t bytes, Where where = Where::current()) const {
    detail::require(device, "cuMulticastUnbind", where);
    detail::check(driver().cuMulticastUnbind(handle(), device.handle(), offset, bytes), "cuMulticastUnbind",
                  where, ref(), device, detail::Argument{"bytes", static_cast<long long>(bytes)});
  }

 private:
  using Owner::Owner;
  static CUmulticastObjectProp properties_of(unsigned devices, std::size_t bytes) {
    CUmulticastObjectProp properties{};
    properties.numDevices = devices;
    properties.size = bytes;
    return properties;
  }
};

}  // namespace v1
}  // namespace cushim

#endif
