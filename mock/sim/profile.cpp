// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/profile.hpp>

#include <cstdlib>
#include <stdexcept>

namespace cushim::sim {

namespace {

// Bandwidths from 64 MiB, starts from 1 byte, medians of 15 on an idle stream; see docs/gpu.md.
Profile h200() {
  Profile profile;
  profile.id = "h200";
  profile.name = "NVIDIA H200";
  profile.source = "measured, driver 580.159.04";
  profile.total_memory = 150109880320;
  profile.attributes = {
#define CUSHIM_ATTRIBUTE(attribute, value) {attribute, value},
#include "h200.inc"
  };
  profile.limits = {
      {CU_LIMIT_STACK_SIZE, 1024},
      {CU_LIMIT_PRINTF_FIFO_SIZE, 8650752},
      {CU_LIMIT_MALLOC_HEAP_SIZE, 8388608},
      {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
      {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
      {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 11796480},
      {7, 232448},  // CU_LIMIT_SHMEM_SIZE
      {8, 0},       // CU_LIMIT_CIG_ENABLED
  };
  profile.greatest_priority = -5;
  profile.costs = {
      .host_to_device = 55.4,
      .device_to_host = 55.3,
      .pageable_to_device = 18.7,
      .device_to_pageable = 18.8,
      .device_to_device = 1900,
      .peer = 380,
      .set = 3600,
      .call = 1000,
      .copy_start = 2100,
      .event_record = 1250,
      .memory_operation = 1800,
      .host_function = 15000,
  };
  return profile;
}

}  // namespace

Peer MachineProfile::peer(int device, int other) const {
  const bool are_alike =
      devices[static_cast<std::size_t>(device)].id == devices[static_cast<std::size_t>(other)].id;
  return {.access = are_alike, .native_atomics = are_alike, .performance_rank = 0};
}

MachineProfile machine(const std::string &name) {
  const auto cross = name.rfind('x');
  char *end = nullptr;
  const long count = cross == name.npos ? 1 : std::strtol(name.c_str() + cross + 1, &end, 10);
  const bool is_count = cross == name.npos || (*end == '\0' && end != name.c_str() + cross + 1);
  if (name.substr(0, cross) != "h200" || !is_count || count < 1 || count > 64)
    throw std::invalid_argument("there are no devices \"" + name +
                                "\"; there are h200, and h200x2 to h200x64 for several");
  return {.driver_version = 13000, .devices = std::vector<Profile>(static_cast<std::size_t>(count), h200())};
}

CUuuid uuid_of(const Profile &profile, int index) {
  CUuuid uuid = {};
  for (std::size_t i = 0; i < profile.id.size() && i < 8; ++i) uuid.bytes[i] = profile.id[i];
  uuid.bytes[15] = static_cast<char>(index + 1);
  return uuid;
}

}  // namespace cushim::sim
