// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>

namespace cushim::bench {

// Throws if a call failed.
inline void need(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::runtime_error("a call answered " + std::to_string(code));
}

}  // namespace cushim::bench
