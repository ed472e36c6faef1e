// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>

#include "api/service.hpp"
#include "machine/visible_devices.hpp"

namespace cushim::sim {
namespace {

CUresult init(Call &call, unsigned flags) {
  require(!is_forked_child, CUDA_ERROR_NOT_INITIALIZED);
  require(flags == 0);
  if (call.system.is_initialized) return CUDA_SUCCESS;
  std::vector<Device *> all;
  for (const int index : device_order(call.system.profile, std::getenv("CUDA_DEVICE_ORDER")))
    all.push_back(call.system.devices[static_cast<std::size_t>(index)].get());
  call.system.visible = visible_devices(all, std::getenv("CUDA_VISIBLE_DEVICES"));
  require(!call.system.visible.empty(), CUDA_ERROR_NO_DEVICE);
  call.system.engine.start_threads();
  note_initialization();
  end_with_process();
  call.system.process = getpid();
  call.system.is_initialized = true;
  return CUDA_SUCCESS;
}

CUresult get_version(Call &call, int *version) {
  require(version != nullptr);
  *version = call.system.driver_slot.driver().version();
  return CUDA_SUCCESS;
}

// Profilers attach to NVIDIA's driver, not to this one.
CUresult start_or_stop_profiler(Call &) { return CUDA_SUCCESS; }

}  // namespace

constinit const Entries entries_of_initialization = {
    entry<"cuInit", init, When::anytime>,
    entry<"cuDriverGetVersion", get_version, When::anytime>,
    entry<"cuProfilerStart", start_or_stop_profiler>,
    entry<"cuProfilerStop", start_or_stop_profiler>,
};

}  // namespace cushim::sim
