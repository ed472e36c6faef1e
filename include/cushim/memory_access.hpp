// SPDX-License-Identifier: Apache-2.0
// Access of devices to memory pools and mappings.
#pragma once

#include <cushim/device.hpp>

namespace cushim {
inline namespace v1 {

// How a device may access memory.
enum class MemoryAccess {
  none = CU_MEM_ACCESS_FLAGS_PROT_NONE,
  read = CU_MEM_ACCESS_FLAGS_PROT_READ,
  read_write = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

namespace detail {

// CU_MEM_LOCATION_TYPE_HOST and CU_MEM_LOCATION_TYPE_HOST_NUMA, which headers before 12.2 lack.
inline constexpr int kHostLocation = 2, kHostNodeLocation = 3;

inline CUmemLocation location_of(Device device) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device.handle();
  return location;
}

inline CUmemAccessDesc access_of(Device device, MemoryAccess access) {
  CUmemAccessDesc description{};
  description.location = location_of(device);
  description.flags = static_cast<CUmemAccess_flags>(access);
  return description;
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim
