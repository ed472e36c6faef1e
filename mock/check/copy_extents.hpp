// SPDX-License-Identifier: Apache-2.0
// What copies of boxes read and write.
#pragma once

#include <cuda.h>

#include "hazard_model.hpp"

namespace cushim::check {

// One side of a copy: `is_target` or the source.
HazardModel::Use use_of(const CUDA_MEMCPY2D &copy, bool is_target);
HazardModel::Use use_of(const CUDA_MEMCPY3D &copy, bool is_target);
HazardModel::Use use_of(const CUDA_MEMCPY3D_PEER &copy, bool is_target);

// Bytes of an array of one dimension.
HazardModel::Use use_of_array(CUarray array, std::uint64_t offset, std::uint64_t size, Access::Kind kind);

}  // namespace cushim::check
