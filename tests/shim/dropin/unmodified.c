/* SPDX-License-Identifier: Apache-2.0 */
#include "unmodified.h"

CUresult unmodified_alloc(CUdeviceptr *pointer, size_t bytes) { return cuMemAlloc(pointer, bytes); }

CUresult unmodified_launch(CUfunction function, CUstream stream) {
  return cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, stream, NULL, NULL);
}

CUresult unmodified_look_up(const char *base, void **function, int version, cuuint64_t flags) {
#if CUDA_VERSION >= 12000
  return cuGetProcAddress(base, function, version, flags, NULL);
#else
  return cuGetProcAddress(base, function, version, flags);
#endif
}

CUresult (*unmodified_address_of_init(void))(unsigned int) { return cuInit; }
