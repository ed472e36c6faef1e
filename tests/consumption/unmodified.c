/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program without a word of cushim: it is linked to the drop-in library. Starts, and gets an answer,
 * with a driver and without. */
#include <cuda.h>
#include <stdio.h>

int main(void) {
  int version = 0;
  const CUresult result = cuDriverGetVersion(&version);
  printf("cuDriverGetVersion %d version %d\n", (int)result, version);
  return result == CUDA_SUCCESS ? version < 11000 : result != CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}
