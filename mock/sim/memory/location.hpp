// SPDX-License-Identifier: Apache-2.0
// Locations, allocation types and handle types of memory, as numbers: older headers lack some of the names.
#pragma once

#include <cuda.h>

namespace cushim::sim {

inline constexpr int kNoLocation = 0;               // CU_MEM_LOCATION_TYPE_NONE, CUDA 13.0
inline constexpr int kDeviceLocation = 1;           // CU_MEM_LOCATION_TYPE_DEVICE
inline constexpr int kHostLocation = 2;             // CU_MEM_LOCATION_TYPE_HOST, CUDA 12.2
inline constexpr int kHostNodeLocation = 3;         // CU_MEM_LOCATION_TYPE_HOST_NUMA, CUDA 12.2
inline constexpr int kCurrentHostNodeLocation = 4;  // CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, CUDA 12.2
inline constexpr int kPinnedAllocation = 1;         // CU_MEM_ALLOCATION_TYPE_PINNED
inline constexpr int kManagedAllocation = 2;        // CU_MEM_ALLOCATION_TYPE_MANAGED, CUDA 13.0
inline constexpr int kFabricHandle = 8;             // CU_MEM_HANDLE_TYPE_FABRIC, CUDA 12.3

}  // namespace cushim::sim
