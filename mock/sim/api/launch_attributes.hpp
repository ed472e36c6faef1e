// SPDX-License-Identifier: Apache-2.0
// Attributes of launches, streams and kernel nodes (CUlaunchAttributeID), also those that older headers lack.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace cushim::sim::launch_attribute {

enum Id : int {
  access_policy_window = 1,
  synchronization_policy = 3,
  cluster_dimension = 4,
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

// Sets the initial value of a domain map: the second domain is the remote one. Measured on an H200, driver
// 580.
inline void set_initial_domains(CUlaunchAttributeValue &value) {
  reinterpret_cast<unsigned char *>(&value)[1] = 1;
}

}  // namespace cushim::sim::launch_attribute
