// SPDX-License-Identifier: Apache-2.0
// What a simulated device is like: the answers that the driver gives about it, and what work costs on it.
// The built-in ones are data, mock/sim/profiles/*.json; docs/profiles.md tells how to write your own.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cushim::sim {

// Virtual time of work.
struct Costs {
  // Gigabytes a second, which is bytes a nanosecond.
  double host_to_device = 0, device_to_host = 0;  // pinned or registered host memory
  double pageable_to_device = 0, device_to_pageable = 0;
  double device_to_device = 0, set = 0;
  // Nanoseconds.
  std::int64_t call = 0;        // that the program spends in a call that puts work into a stream
  std::int64_t copy_start = 0;  // before the first byte of a copy or set
  std::int64_t event_record = 0;
  std::int64_t memory_operation = 0;
  std::int64_t host_function = 0;
};

// What one device can do with another's memory.
struct Peer {
  bool access = false;
  bool native_atomics = false;
  int performance_rank = 0;  // CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
  // Of copies to it, in gigabytes a second. 0 is by way of the host: the slower of the two devices' own.
  double bandwidth = 0;
};

// What a number rests on: it was read from a device; NVIDIA or an owner published it; it is derived from
// others, or a like device's; it was made up.
enum class Status { measured, published, estimated, invented };
std::string_view status_name(Status status);

struct Source {
  Status status = Status::invented;
  std::string text;  // what was read or measured, and how
};

// Yes or no; a whole number; gigabytes a second.
using ProfileValue = std::variant<bool, std::int64_t, double>;

struct Profile {
  std::string id;                     // by which it is asked for: "h200"
  std::string name;                   // as cuDeviceGetName tells it
  std::size_t total_memory = 0;       // bytes
  std::map<int, int> attributes;      // by CUdevice_attribute; one that is not there is INVALID_VALUE
  std::map<int, std::size_t> limits;  // by CUlimit; one that is not there is UNSUPPORTED_LIMIT
  int least_priority = 0, greatest_priority = 0;
  Costs costs;
  Peer peer;  // with another device of this id

  // Where the values come from: first what the file as a whole rests on, then the device that it is like,
  // then others. And the place of each value's in these, by the names that values() gives.
  std::vector<Source> sources;
  std::map<std::string, std::size_t> source_of;

  // All that has a source, by name: "total_memory", "attributes.warp_size", "limits.stack_size", "costs.set",
  // "peer.access", "stream_priorities.least".
  std::map<std::string, ProfileValue> values() const;
  // Throws std::out_of_range for what is no such name.
  const Source &source(const std::string &value) const;
};

struct MachineProfile {
  int driver_version = 0;                // 13000 is CUDA 13.0
  std::vector<Profile> devices;          // in the order of their PCI addresses
  std::vector<std::vector<Peer>> peers;  // [device][other]

  Peer peer(int device, int other) const;
};

// The built-in devices, by id.
const std::vector<Profile> &profiles();

// The machine of this description:
//   h200                    one device, a built-in one or a file (a word with a slash or .json at its end)
//   h200x2,l4,./mine.json   several; two of the same id reach each other as their profile says
//   h200x2;driver=11.8      with a driver of CUDA 11.8: it lacks later entry points and attributes
//   machine.json            devices, driver and links
// Throws std::invalid_argument that says what is wrong, the nearest valid word, and for a file the line.
MachineProfile machine(const std::string &description);

// The same of a file's text; origin is what errors call it.
MachineProfile read_machine(std::string_view text, const std::string &origin);

// The number of a version of CUDA: 11080 of "11.8" and of "11080". Throws std::invalid_argument.
int driver_version(std::string_view text);

// Makes a machine's driver one of this version, which lacks later entry points and attributes.
void set_driver(MachineProfile &machine, int version);

// The names of attributes as in cushim/device_attribute.hpp, by CUdevice_attribute.
const std::map<int, std::string> &attribute_names();

// The identity that the device of this index has, the same in every run.
CUuuid uuid_of(const Profile &profile, int index);

// The order in which a process sees a machine's devices under this CUDA_DEVICE_ORDER: "PCI_BUS_ID" is by PCI
// address; all else, and null, is FASTEST_FIRST. What is fast is the driver's secret; here it is
// multiprocessors times clock, and those alike stay in order.
std::vector<int> device_order(const MachineProfile &machine, const char *order);

}  // namespace cushim::sim
