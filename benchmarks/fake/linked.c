/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a linked driver, under names that the drop-in library does not define. */
#include <cuda.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

CUresult linked_event_query(CUevent event) { return CUDA_SUCCESS; }

CUresult linked_launch_kernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                              unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                              unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                              void **parameters, void **extra) {
  return CUDA_SUCCESS;
}
