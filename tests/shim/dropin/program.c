/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does not mention cushim: prints the results of cuInit and cuDriverGetVersion. */
#include <cuda.h>
#include <stdio.h>

int main(void) {
  int version = 0;
  const CUresult init = cuInit(0);
  const CUresult result = cuDriverGetVersion(&version);
  printf("cuInit %d cuDriverGetVersion %d version %d\n", init, result, version);
  return 0;
}
