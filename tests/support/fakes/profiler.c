/* SPDX-License-Identifier: Apache-2.0 */
/* An injected profiler: functions that a driver's lookup returns instead of the driver's own. */
#include <cushim/foreign_types.h>

int profiled_alloc(CUdeviceptr *pointer, size_t bytes) __asm__("cuMemAlloc_v2");
int profiled_alloc(CUdeviceptr *pointer, size_t bytes) {
  (void)pointer;
  (void)bytes;
  return CUDA_ERROR_PROFILER_ALREADY_STARTED;
}
