/* SPDX-License-Identifier: Apache-2.0 */
/* Without arguments does nothing. With a driver's path opens that driver; with any second argument also
 * creates a context. */
#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>

#undef cuInit
#undef cuDevicePrimaryCtxRetain

int main(int count, char **arguments) {
  if (count < 2) return 0;
  void *const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 1;
  if (count < 3) return 0;
  CUresult(CUDAAPI * init)(unsigned);
  CUresult(CUDAAPI * retain)(CUcontext *, CUdevice);
  *(void **)&init = dlsym(library, "cuInit");
  *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
  if (init == NULL || retain == NULL) return 1;
  CUcontext context = NULL;
  return init(0) != CUDA_SUCCESS || retain(&context, 0) != CUDA_SUCCESS;
}
