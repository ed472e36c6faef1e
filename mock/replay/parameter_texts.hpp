// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace cushim::replay {

// Returns the type of a parameter in C: "const CUDA_MEMCPY2D_v2 *".
std::string parameter_type(int slot, std::size_t parameter);

// Returns the type of what a parameter of a pointer type points to, without const: "CUDA_MEMCPY2D_v2".
std::string pointee_type(int slot, std::size_t parameter);

}  // namespace cushim::replay
