// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>

namespace cushim::test {

// Throws std::runtime_error if a call has failed without which a test means nothing.
inline void need(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::runtime_error("a call returned " + std::to_string(code));
}

}  // namespace cushim::test
