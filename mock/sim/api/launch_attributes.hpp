// SPDX-License-Identifier: Apache-2.0
// Attributes of launches, streams and kernel nodes (CUlaunchAttributeID), also those that older headers lack.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "machine/system.hpp"

namespace cushim::sim::launch_attribute {

enum Id : int {
  access_policy_window = 1,
  cooperative = 2,
  synchronization_policy = 3,
  cluster_dimension = 4,
  scheduling_policy = 5,
  priority = 8,
  memory_domain_map = 9,  // CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
  memory_domain = 10,     // CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
  preferred_cluster = 11,
  completion_event = 12,
  updatable_node = 13,  // CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE
  shared_memory_carveout = 14,
  reserved = 15,          // has no name in CUDA 13.0
  link_scheduling = 16,   // CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING
  last = link_scheduling  // in CUDA 13.0; driver 580 refuses others
};

// Returns the number of bytes that a call writes for an attribute of a node or a stream. Measured on an H200,
// driver 580.
inline std::size_t size_of(int id) {
  switch (id) {
    case access_policy_window:
      return sizeof(CUaccessPolicyWindow);
    case cluster_dimension:
      return 3 * sizeof(unsigned);
    case memory_domain_map:
      return 2;
    default:
      return sizeof(int);
  }
}

// Returns whether a kernel node has the attribute. Measured on an H200, driver 580.
inline bool is_of_nodes(int id) {
  switch (id) {
    case access_policy_window:
    case cooperative:
    case cluster_dimension:
    case scheduling_policy:
    case priority:
    case memory_domain_map:
    case memory_domain:
    case shared_memory_carveout:
      return true;
    default:
      return false;
  }
}

// Returns the value of an attribute of a node or a stream that is not set. Measured on an H200, driver 580.
inline CUlaunchAttributeValue initial_value(int id) {
  constexpr int as_the_context = -1;  // a synchronization policy that is not in <cuda.h>
  CUlaunchAttributeValue value{};
  if (id == synchronization_policy) std::memcpy(&value, &as_the_context, sizeof as_the_context);
  if (id == memory_domain_map) reinterpret_cast<unsigned char *>(&value)[1] = 1;  // the remote domain
  return value;
}

// Clamps a priority, which is a hint, to the device's range. A smaller number is a higher priority. Measured
// on an H200, driver 580.
inline int clamped_priority(const Device &device, int priority) {
  return std::clamp(priority, device.profile.greatest_priority, device.profile.least_priority);
}

}  // namespace cushim::sim::launch_attribute
