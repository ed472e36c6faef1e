// SPDX-License-Identifier: Apache-2.0
// What a simulated device is like: the answers that the driver gives about it, and what work costs on it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cushim::sim {

// Virtual time of work.
struct Costs {
  // Gigabytes a second, which is bytes a nanosecond.
  double host_to_device = 0, device_to_host = 0;  // pinned or registered host memory
  double pageable_to_device = 0, device_to_pageable = 0;
  double device_to_device = 0, peer = 0, set = 0;
  // Nanoseconds.
  std::int64_t call = 0;        // that the program spends in a call that puts work into a stream
  std::int64_t copy_start = 0;  // before the first byte of a copy or set
  std::int64_t event_record = 0;
  std::int64_t memory_operation = 0;
  std::int64_t host_function = 0;
};

struct Profile {
  std::string id;                     // by which it is asked for: "h200"
  std::string name;                   // as cuDeviceGetName tells it
  std::string source;                 // where the numbers come from
  std::size_t total_memory = 0;       // bytes
  std::map<int, int> attributes;      // by CUdevice_attribute; one that is not there is INVALID_VALUE
  std::map<int, std::size_t> limits;  // by CUlimit; one that is not there is UNSUPPORTED_LIMIT
  int least_priority = 0, greatest_priority = 0;
  Costs costs;
};

// What one device can do with another's memory.
struct Peer {
  bool access = false;
  bool native_atomics = false;
  int performance_rank = 0;  // CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
};

struct MachineProfile {
  int driver_version = 0;  // 13000 is CUDA 13.0
  std::vector<Profile> devices;

  Peer peer(int device, int other) const;
};

// The machine of this name: a device's id, and how many of them: "h200", "h200x2". Throws
// std::invalid_argument, naming those that there are.
MachineProfile machine(const std::string &name);

// The identity that the device of this index has, the same in every run.
CUuuid uuid_of(const Profile &profile, int index);

}  // namespace cushim::sim
