// SPDX-License-Identifier: Apache-2.0
// Structures that several calls take.
#pragma once

#include "objects.hpp"

namespace arguments {

CUDA_MEMCPY2D copy_2d(Objects &o);  // device memory to device memory
CUDA_MEMCPY2D copy_2d_to_array(Objects &o);
CUDA_MEMCPY2D copy_2d_from_host(Objects &o);
CUDA_MEMCPY3D copy_3d(Objects &o);
CUDA_MEMCPY3D copy_3d_from_array(Objects &o);
CUDA_MEMCPY3D copy_3d_to_host(Objects &o);
CUDA_MEMCPY3D_PEER copy_3d_peer(Objects &o);
CUDA_MEMSET_NODE_PARAMS memset_parameters(Objects &o);
CUDA_KERNEL_NODE_PARAMS kernel_parameters(Objects &o);
CUDA_HOST_NODE_PARAMS host_parameters(Objects &o);
CUDA_MEM_ALLOC_NODE_PARAMS allocation_parameters();
CUDA_BATCH_MEM_OP_NODE_PARAMS batch_parameters(Objects &o);
CUstreamBatchMemOpParams write_value(Objects &o);
CUstreamBatchMemOpParams wait_value(Objects &o);
CUlaunchConfig launch(Objects &o);
// A launch with one attribute.
CUlaunchConfig launch(Objects &o, const CUlaunchAttribute &attribute);
CUmemAllocationProp physical_properties();
CUmemPoolProps pool_properties();
CUmemLocation location_of_device();
CUDA_RESOURCE_DESC array_resource(CUarray array);
CUDA_RESOURCE_DESC mipmapped_resource(Objects &o);
CUDA_RESOURCE_DESC linear_resource(Objects &o);
CUDA_RESOURCE_DESC pitched_resource(Objects &o);

// PTX with functions without parameters, with parameters and with shared memory, and variables.
extern const char *const kPtx;

void CUDA_CB do_nothing(void *);

}  // namespace arguments
