// SPDX-License-Identifier: Apache-2.0
// Profiles of simulated devices: the properties that the driver reports, and the cost of work. The built-in
// profiles are data: mock/sim/profile/devices/*.json. docs/reference/profiles.md describes how to write
// your own.
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

// The virtual duration of work.
struct Costs {
  // Bandwidths in gigabytes per second (bytes per nanosecond).
  double host_to_device = 0, device_to_host = 0;  // pinned or registered host memory
  double pageable_to_device = 0, device_to_pageable = 0;
  double device_to_device = 0, set = 0;
  // Durations in nanoseconds.
  std::int64_t call = 0;        // that the program spends in a call that enqueues work
  std::int64_t copy_start = 0;  // before the first byte of a copy or memset
  std::int64_t event_record = 0;
  std::int64_t memory_operation = 0;
  std::int64_t host_function = 0;
};

// The access of one device to another's memory.
struct Peer {
  bool access = false;
  bool native_atomics = false;
  int performance_rank = 0;  // CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
  // Bandwidth of copies to it, in gigabytes per second. 0: copies go through the host, at the lower of the
  // two devices' own bandwidths.
  double bandwidth = 0;
};

// The evidence for a value: read from a device; published by NVIDIA or a device's owner; derived from other
// values or a similar device; made up.
enum class Status { measured, published, estimated, invented };
std::string_view status_name(Status status);

// The source of a profile value.
struct Source {
  Status status = Status::invented;
  std::string text;  // what was read or measured, and how
};

// A boolean, an integer, or gigabytes per second.
using ProfileValue = std::variant<bool, std::int64_t, double>;

// A device: its properties, its limits, and the virtual cost of its work.
struct Profile {
  std::string id;                     // name in device descriptions: "h200"
  std::string name;                   // as cuDeviceGetName returns it
  std::size_t total_memory = 0;       // bytes
  std::map<int, int> attributes;      // by CUdevice_attribute; a missing one returns CUDA_ERROR_INVALID_VALUE
  std::map<int, std::size_t> limits;  // by CUlimit; a missing one returns CUDA_ERROR_UNSUPPORTED_LIMIT
  int least_priority = 0, greatest_priority = 0;
  // The multiprocessors of each processing cluster (GPC) that can run clusters of more than 2 blocks. Empty:
  // unknown, and cuOccupancyMaxActiveClusters returns CUDA_ERROR_NOT_SUPPORTED.
  std::vector<int> processing_clusters;
  Costs costs;
  Peer peer;  // access to another device of this id

  // The sources of the values: first that of the file as a whole, then that of the device it is based on,
  // then others. source_of maps the names of values() to indices of `sources`.
  std::vector<Source> sources;
  std::map<std::string, std::size_t> source_of;

  // Returns all values that have a source, by name: "total_memory", "attributes.warp_size",
  // "limits.stack_size", "costs.set", "peer.access", "stream_priorities.least".
  std::map<std::string, ProfileValue> values() const;
  // Returns the source of a value. Throws std::out_of_range for an unknown name.
  const Source &source(const std::string &value) const;
};

// The devices of a machine, its driver version, and the links between its devices.
struct MachineProfile {
  int driver_version = 0;                // 13000 is CUDA 13.0
  std::vector<Profile> devices;          // in the order of their PCI addresses
  std::vector<std::vector<Peer>> peers;  // [device][other]

  // Returns how the device reaches the memory of the other.
  Peer peer(int device, int other) const;
};

// Returns the built-in devices. A device on which others are based comes before them.
const std::vector<Profile> &profiles();

// Returns the machine of a description:
//   h200                    one device: built-in, or a file (the word has a slash or ends in .json)
//   h200x2,l4,./mine.json   several devices; two of the same id reach each other as their profile says
//   h200x2;driver=11.8      a driver of CUDA 11.8, which lacks later entry points and attributes
//   machine.json            devices, driver and links
// Throws std::invalid_argument that says what is wrong, with the nearest valid word, and for a file the
// line.
MachineProfile machine(const std::string &description);

// The same for the text of a file; `origin` names it in errors.
MachineProfile read_machine(std::string_view text, const std::string &origin);

// Returns the number of a CUDA version: 11080 for "11.8" and for "11080". Throws std::invalid_argument.
int driver_version(std::string_view text);

// Gives a machine a driver of this version, which lacks later entry points and attributes.
void set_driver(MachineProfile &machine, int version);

// Returns the names of attributes as in cushim/device_attribute.hpp, by CUdevice_attribute.
const std::map<int, std::string> &attribute_names();

// Returns the UUID of the device of this index, the same in every run.
CUuuid uuid_of(const Profile &profile, int index);

// Returns the order in which a process sees a machine's devices under this CUDA_DEVICE_ORDER. "PCI_BUS_ID":
// by PCI address. Any other value, or null: FASTEST_FIRST. The real driver's measure of speed is
// undocumented; here it is multiprocessors times clock, and equal devices keep their order.
std::vector<int> device_order(const MachineProfile &machine, const char *order);

}  // namespace cushim::sim
