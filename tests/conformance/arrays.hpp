// SPDX-License-Identifier: Apache-2.0
// The fixture of the statements about arrays.
#pragma once

#include "array_memory.hpp"

namespace conformance {

class Arrays : public WithArrays {
 public:
  CUarray plain() { return array(shape(64, 8)); }
  CUDA_ARRAY_DESCRIPTOR two = {};
  CUDA_ARRAY3D_DESCRIPTOR three = {};
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  CUDA_ARRAY_SPARSE_PROPERTIES sparse = {};
};

}  // namespace conformance
