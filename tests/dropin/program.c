/* SPDX-License-Identifier: Apache-2.0 */
/* A program with no word of cushim in it: prints what cuInit and cuDriverGetVersion return. */
#include <cuda.h>
#include <stdio.h>

int main(void) {
  int version = 0;
  const CUresult init = cuInit(0);
  const CUresult result = cuDriverGetVersion(&version);
  printf("cuInit %d cuDriverGetVersion %d version %d\n", init, result, version);
  return 0;
}
