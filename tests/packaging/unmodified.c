/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program that does not mention cushim, linked with the drop-in library. It starts, and its calls
 * return, with and without a driver. */
#include <cuda.h>
#include <stdio.h>

int main(void) {
  int version = 0;
  const CUresult result = cuDriverGetVersion(&version);
  printf("cuDriverGetVersion %d version %d\n", (int)result, version);
  return result == CUDA_SUCCESS ? version < 11000 : result != CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}
