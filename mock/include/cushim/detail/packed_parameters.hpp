// SPDX-License-Identifier: Apache-2.0
// The argument `extra` of cuLaunchKernel: parameters of a kernel that the program has packed into one buffer.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace cushim::mock {

struct PackedParameters {
  const char *bytes = nullptr;
  std::size_t size = 0;
  bool has_unknown_option = false;  // the driver refuses it with CUDA_ERROR_INVALID_VALUE
};

// Reads the options up to CU_LAUNCH_PARAM_END, or up to the first that is unknown. `extra` must not be null.
inline PackedParameters packed_parameters(void *const *extra) noexcept {
  PackedParameters packed;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      packed.bytes = static_cast<const char *>(extra[1]);
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      packed.size = extra[1] != nullptr ? *static_cast<const std::size_t *>(extra[1]) : 0;
    } else {
      packed.has_unknown_option = true;
      break;
    }
  }
  return packed;
}

}  // namespace cushim::mock
