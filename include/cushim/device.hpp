// SPDX-License-Identifier: Apache-2.0
// Devices: enumeration, attributes and properties.
#pragma once

#include <cushim/detail/handle.hpp>
#include <cushim/device_attribute.hpp>

#include <array>
#include <vector>

namespace cushim {
inline namespace v1 {

// Initializes the driver. Every other call needs it. LoadOptions::initialize does the same. May be called
// repeatedly. Driver calls: cuInit.
inline void init(Driver &driver = cushim::driver(), Where where = Where::current()) {
  if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS)
    throw Error(result, "cuInit", driver.explain(result).text(), where);
}

// The 16-byte UUID of a GPU or a MIG instance.
struct Uuid {
  std::array<unsigned char, 16> bytes;

  friend bool operator==(const Uuid &, const Uuid &) = default;

  // Returns "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", the form of nvidia-smi and CUDA_VISIBLE_DEVICES.
  std::string text() const {
    std::string text = "GPU";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
      text += digits;
    }
    return text;
  }
};

// A reference to a device. Owns nothing.
class Device : public detail::Reference<detail::NounBase<Device, CUdevice>> {
 public:
  Device() = default;

  // Returns the device with this ordinal. Throws INVALID_DEVICE if there is none. Driver calls: cuDeviceGet.
  static Device get(int ordinal, Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUdevice handle = 0;
    if (const CUresult result = driver.cuDeviceGet(&handle, ordinal); result != CUDA_SUCCESS)
      detail::fail(result, "cuDeviceGet", where, detail::Through{&driver},
                   detail::Argument{"ordinal", ordinal});
    return from_handle(handle, driver);
  }

  // Returns the device with this PCI address, "0000:3b:00.0". Driver calls: cuDeviceGetByPCIBusId.
  static Device by_pci_bus_id(const std::string &address, Driver &driver = cushim::driver(),
                              Where where = Where::current()) {
    CUdevice handle = 0;
    if (const CUresult result = driver.cuDeviceGetByPCIBusId(&handle, address.c_str());
        result != CUDA_SUCCESS)
      throw Error(result, "cuDeviceGetByPCIBusId", "PCI address \"" + address + "\"", where);
    return from_handle(handle, driver);
  }

  // Returns the number of devices that are visible to the process. Driver calls: cuDeviceGetCount.
  static int count(Driver &driver = cushim::driver(), Where where = Where::current()) {
    int count = 0;
    detail::check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount", where, detail::Through{&driver});
    return count;
  }

  // Returns all devices. Driver calls: cuDeviceGetCount, cuDeviceGet for each.
  static std::vector<Device> all(Driver &driver = cushim::driver(), Where where = Where::current()) {
    std::vector<Device> devices;
    const int number = count(driver, where);
    for (int ordinal = 0; ordinal < number; ++ordinal) devices.push_back(get(ordinal, driver, where));
    return devices;
  }

  // Returns an attribute, as the attribute's type. Driver calls: cuDeviceGetAttribute.
  template <class T>
  T attribute(DeviceAttribute<T> which, Where where = Where::current()) const {
    return detail::attribute_of<T>(detail::NamedCall{"cuDeviceGetAttribute", &Driver::cuDeviceGetAttribute},
                                   which.number, where, *this);
  }

  // Returns the name, for example "NVIDIA H200". Driver calls: cuDeviceGetName.
  std::string name(Where where = Where::current()) const {
    char name[256] = "";
    detail::check(driver().cuDeviceGetName(name, sizeof name, handle()), "cuDeviceGetName", where, *this);
    return name;
  }

  // Returns the UUID. Driver calls: cuDeviceGetUuid_v2, which distinguishes MIG instances.
  Uuid uuid(Where where = Where::current()) const {
    CUuuid raw{};
    detail::check(driver().cuDeviceGetUuid_v2(&raw, handle()), "cuDeviceGetUuid", where, *this);
    Uuid uuid;
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i)
      uuid.bytes[i] = static_cast<unsigned char>(raw.bytes[i]);
    return uuid;
  }

  // Returns the PCI address, "0000:3b:00.0". Driver calls: cuDeviceGetPCIBusId.
  std::string pci_bus_id(Where where = Where::current()) const {
    char address[32] = "";
    detail::check(driver().cuDeviceGetPCIBusId(address, sizeof address, handle()), "cuDeviceGetPCIBusId",
                  where, *this);
    return address;
  }

  // Returns the size of device memory in bytes. Driver calls: cuDeviceTotalMem.
  std::size_t total_memory(Where where = Where::current()) const {
    std::size_t bytes = 0;
    detail::check(driver().cuDeviceTotalMem(&bytes, handle()), "cuDeviceTotalMem", where, *this);
    return bytes;
  }

  // Returns whether contexts of this device can get access to the peer's memory. Driver calls:
  // cuDeviceCanAccessPeer.
  bool can_access(Device peer, Where where = Where::current()) const {
    detail::require(peer, "cuDeviceCanAccessPeer", where);
    int can = 0;
    detail::check(driver().cuDeviceCanAccessPeer(&can, handle(), peer.handle()), "cuDeviceCanAccessPeer",
                  where, *this, peer);
    return can != 0;
  }

  // Returns an attribute of the link from this device to a peer. Throws INVALID_DEVICE if both are the same
  // device. Driver calls: cuDeviceGetP2PAttribute.
  template <class T>
  T peer_attribute(PeerAttribute<T> which, Device peer, Where where = Where::current()) const {
    return detail::attribute_of<T>(
        detail::NamedCall{"cuDeviceGetP2PAttribute", &Driver::cuDeviceGetP2PAttribute}, which.number, where,
        *this, peer);
  }

  // Returns the largest width in elements of a texture of device memory. Driver calls:
  // cuDeviceGetTexture1DLinearMaxWidth.
  std::size_t max_linear_texture_width(CUarray_format format, unsigned channels,
                                       Where where = Where::current()) const {
    std::size_t width = 0;
    detail::check(driver().cuDeviceGetTexture1DLinearMaxWidth(&width, format, channels, handle()),
                  "cuDeviceGetTexture1DLinearMaxWidth", where, *this);
    return width;
  }
  // Returns whether a context can be limited to a number of multiprocessors. Driver calls:
  // cuDeviceGetExecAffinitySupport.
  bool can_limit_multiprocessors(Where where = Where::current()) const {
    int can = 0;
    detail::check(driver().cuDeviceGetExecAffinitySupport(&can, CU_EXEC_AFFINITY_TYPE_SM_COUNT, handle()),
                  "cuDeviceGetExecAffinitySupport", where, *this);
    return can != 0;
  }

  // Returns the ordinal that get() takes. The driver's device handles are ordinals, so this makes no driver
  // call. Throws INVALID_HANDLE if this is empty.
  int ordinal(Where where = Where::current()) const {
    detail::require(*this, "cuDeviceGet", where);
    return handle();
  }

  // Returns "device 0" or "an empty device".
  friend std::string to_text(const Device &device) {
    return device.is_empty() ? "an empty device" : "device " + std::to_string(device.handle());
  }
};

}  // namespace v1
}  // namespace cushim
