/* SPDX-License-Identifier: Apache-2.0 */
/* Adds two vectors through the driver API, with the kernel of a cubin. Usage: vector_addition CUBIN */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 1000 };

static void need(CUresult code, int line) {
  if (code == CUDA_SUCCESS) return;
  fprintf(stderr, "line %d: %d\n", line, code);
  exit(1);
}
#define NEED(call) need(call, __LINE__)

int main(int argc, char **argv) {
  static float a[kCount], b[kCount], sum[kCount];
  CUcontext context;
  CUmodule module;
  CUfunction add;
  CUdeviceptr to, from_a, from_b;
  unsigned long long count = kCount;
  void *parameters[] = {&to, &from_a, &from_b, &count};
  if (argc != 2) return 2;
  for (int i = 0; i < kCount; ++i) a[i] = (float)i, b[i] = (float)(2 * i);
  NEED(cuInit(0));
  NEED(cuDevicePrimaryCtxRetain(&context, 0));
  NEED(cuCtxSetCurrent(context));
  NEED(cuModuleLoad(&module, argv[1]));
  NEED(cuModuleGetFunction(&add, module, "add"));
  NEED(cuMemAlloc(&to, sizeof sum));
  NEED(cuMemAlloc(&from_a, sizeof a));
  NEED(cuMemAlloc(&from_b, sizeof b));
  NEED(cuMemcpyHtoD(from_a, a, sizeof a));
  NEED(cuMemcpyHtoD(from_b, b, sizeof b));
  NEED(cuLaunchKernel(add, (kCount + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
  NEED(cuMemcpyDtoH(sum, to, sizeof sum));
  for (int i = 0; i < kCount; ++i)
    if (sum[i] != (float)(3 * i)) return 1;
  NEED(cuMemFree(to));
  NEED(cuMemFree(from_a));
  NEED(cuMemFree(from_b));
  NEED(cuModuleUnload(module));
  NEED(cuDevicePrimaryCtxRelease(0));
  puts("all is as it should be");
  return 0;
}
