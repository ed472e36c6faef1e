// SPDX-License-Identifier: Apache-2.0
#include "api/context_calls.hpp"

namespace cushim::sim {
namespace {

CUresult retain(Call &call, CUcontext *out, CUdevice number) {
  Device &device = call.device(number);
  require(out != nullptr);
  *out = reinterpret_cast<CUcontext>(retain_primary(call, device).handle);
  return CUDA_SUCCESS;
}

bool is_active(const Device &device) { return device.primary != nullptr && device.primary->is_alive; }

CUresult release(Call &call, CUdevice number) { return release_primary(call, call.device(number)); }

// The retain count does not change: each retain still needs a release. Measured, driver 580.
CUresult reset(Call &call, CUdevice number) {
  Device &device = call.device(number);
  require(!device.is_gone, device.fault);
  device.primary_flags = 0;
  while (is_active(device)) call.end(*device.primary);  // again if it is retained during the wait
  device.fault = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult get_state(Call &call, CUdevice number, unsigned *flags, int *active) {
  require(flags != nullptr && active != nullptr);  // before the device: measured on an H200, driver 580
  const Device &device = call.device(number);
  *active = is_active(device) ? 1 : 0;
  *flags = device.primary_flags;
  return CUDA_SUCCESS;
}

CUresult set_flags(Call &call, CUdevice number, unsigned flags) {
  Device &device = call.device(number);
  require(are_context_flags(flags) && (flags & CU_CTX_MAP_HOST) == 0);
  device.primary_flags = flags;
  if (device.primary != nullptr) device.primary->flags = device.primary_flags;
  return CUDA_SUCCESS;
}

CUresult set_flags_if_inactive(Call &call, CUdevice number, unsigned flags) {
  require(!is_active(call.device(number)), CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
  return set_flags(call, number, flags);
}

}  // namespace

Context &retain_primary(Call &call, Device &device) {
  require(device.fault == CUDA_SUCCESS || (is_active(device) && !device.is_gone), device.fault);
  if (device.primary == nullptr) {
    device.primary = &call.system.make_context(device, device.primary_flags);
    device.primary->is_primary = true;
  } else {
    device.primary->revive();  // the same handle again, also while a release waits to destroy it
  }
  device.primary->flags = device.primary_flags;
  ++device.primary_retains;
  return *device.primary;
}

// The last release and a reset set the flags to 0. Measured, driver 580.
CUresult release_primary(Call &call, Device &device) {
  require(device.primary_retains > 0, CUDA_ERROR_INVALID_CONTEXT);
  const CUresult fault = device.fault;
  if (--device.primary_retains != 0) return fault;
  device.primary_flags = 0;
  if (is_active(device)) call.end(*device.primary);
  return fault;
}

constinit const Entries entries_of_primary_contexts = {
    entry<"cuDevicePrimaryCtxRetain", retain>,
    entry<"cuDevicePrimaryCtxRelease", release>,
    entry<"cuDevicePrimaryCtxReset", reset>,
    entry<"cuDevicePrimaryCtxGetState", get_state>,
    entry<"cuDevicePrimaryCtxSetFlags_v7000", set_flags_if_inactive>,
    entry<"cuDevicePrimaryCtxSetFlags_v11000", set_flags>,
};

}  // namespace cushim::sim
