/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary driver API code that does not mention cushim: fills device memory and reads it back. Linked
 * with -lcuda, the program does not start on a machine without a driver; linked with the drop-in library,
 * it does. */
#include "fill.h"

#include <cuda.h>
#include <stdio.h>

/* Returns 1 and prints the call's name if the call failed, otherwise 0. */
static int failed(const char *call, CUresult result) {
  if (result == CUDA_SUCCESS) return 0;
  const char *name = NULL;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL) name = "no name";
  printf("%s: %d (%s)\n", call, (int)result, name);
  return 1;
}

static int fill_memory(unsigned value) {
  unsigned back[256] = {0};
  CUdeviceptr memory = 0;
  if (failed("cuMemAlloc", cuMemAlloc(&memory, sizeof back))) return 0;
  int good = !failed("cuMemsetD32", cuMemsetD32(memory, value, 256)) &&
             !failed("cuMemcpyDtoH", cuMemcpyDtoH(back, memory, sizeof back));
  for (int i = 0; good && i < 256; ++i) good = back[i] == value;
  cuMemFree(memory);
  return good;
}

int fill_on_device(unsigned value) {
  CUdevice device;
  CUcontext context;
  if (failed("cuInit", cuInit(0)) || failed("cuDeviceGet", cuDeviceGet(&device, 0)) ||
      failed("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, device)))
    return 0;
  const int good = !failed("cuCtxSetCurrent", cuCtxSetCurrent(context)) && fill_memory(value);
  cuDevicePrimaryCtxRelease(device);
  return good;
}
