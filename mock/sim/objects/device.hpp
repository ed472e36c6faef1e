// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/sim/profile.hpp>

#include <memory>
#include <vector>

#include "engine/operation.hpp"

namespace cushim::sim {

struct Context;

// The memory of graphs on a device, in bytes (CUgraphMem_attribute).
struct GraphMemoryUse {
  unsigned long long used = 0, used_high = 0, reserved = 0, reserved_high = 0;
};

struct Device {
  int index = 0;    // in the simulated machine
  int ordinal = 0;  // in the process, after CUDA_VISIBLE_DEVICES
  Profile profile;
  CUuuid uuid = {};
  std::vector<Peer> peers;  // by the other device's index

  Context *primary = nullptr;  // made at the first retain; revived by later ones
  int primary_retains = 0;
  CUresult fault = CUDA_SUCCESS;  // until its primary context is reset
  bool is_gone = false;           // lost permanently: a reset does not revive it
  unsigned primary_flags = 0;

  std::size_t used = 0;      // bytes of its memory in blocks with at least one allocation
  std::size_t peak = 0;      // the highest value of `used`
  std::size_t physical = 0;  // bytes of physical memory that the program has created (cuMemCreate)

  GraphMemoryUse graph_memory;

  // Hardware units that work in parallel.
  Resource to_device{.copy_engine = mock::CopyEngine::to_device};
  Resource to_host{.copy_engine = mock::CopyEngine::to_host};
  Resource processors;

  // Returns 0 for an attribute that the profile lacks.
  int attribute(CUdevice_attribute wanted) const {
    const auto place = profile.attributes.find(wanted);
    return place != profile.attributes.end() ? place->second : 0;
  }
};

}  // namespace cushim::sim
