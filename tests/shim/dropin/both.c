/* SPDX-License-Identifier: Apache-2.0 */
/* A program that links a driver and a library that contains the drop-in. */
#include <cuda.h>
#include <stdio.h>

int library_init(void);

int main(void) {
  const int linked = (int)cuInit(0);
  printf("linked %d dropped in %d\n", linked, library_init());
  return 0;
}
