// SPDX-License-Identifier: Apache-2.0
// The memory that 2D and 3D copies read and write.
#pragma once

#include <cuda.h>

#include "hazards/hazard_model.hpp"

namespace cushim::check {

// Return one end of a copy: the destination if `is_target`, else the source.
HazardModel::Use use_of(const CUDA_MEMCPY2D &copy, bool is_target);
HazardModel::Use use_of(const CUDA_MEMCPY3D &copy, bool is_target);
HazardModel::Use use_of(const CUDA_MEMCPY3D_PEER &copy, bool is_target);
#if CUDA_VERSION >= 12080
// `element` is the size of the copied elements in bytes.
HazardModel::Use use_of(const CUDA_MEMCPY3D_BATCH_OP &copy, std::uint64_t element, bool is_target);
#endif

// Returns bytes of a one-dimensional array.
HazardModel::Use use_of_array(CUarray array, std::uint64_t offset, std::uint64_t size, Access::Kind kind);

}  // namespace cushim::check
