// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/sim/profile.hpp>

#include <memory>
#include <vector>

#include "operation.hpp"

namespace cushim::sim {

struct Context;
struct Pool;

struct Device {
  int index = 0;    // in the machine
  int ordinal = 0;  // as the process sees it
  Profile profile;
  CUuuid uuid = {};
  std::vector<Peer> peers;  // by the other's index

  Context *primary = nullptr;  // made at the first retain; revived by later ones
  int primary_retains = 0;
  CUresult fault = CUDA_SUCCESS;  // until its primary context is reset
  bool is_gone = false;           // lost for good: a reset does not revive it
  unsigned primary_flags = 0;

  std::size_t used = 0;  // bytes of its memory that are allocated, in whole blocks
  std::size_t peak = 0;  // the most that this has been
  Pool *default_pool = nullptr;
  Pool *pool = nullptr;

  Resource to_device, to_host, processors;  // what works at the same time

  // 0 if it has none.
  int attribute(CUdevice_attribute wanted) const {
    const auto place = profile.attributes.find(wanted);
    return place != profile.attributes.end() ? place->second : 0;
  }
};

}  // namespace cushim::sim
