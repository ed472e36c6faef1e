/* SPDX-License-Identifier: Apache-2.0 */
/* Prints an error's name without checking the return code of cuGetErrorName, as many programs do. */
#include <cuda.h>
#include <stdio.h>

int main(void) {
  const CUresult result = cuInit(0);
  const char *name = "unwritten";
  const char *text = "unwritten";
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  printf("%s %s\n", name, text);
  const int unknown = (int)cuGetErrorName((CUresult)12345, &name);
  printf("%d %s, %d\n", unknown, name == NULL ? "null" : name, (int)cuGetErrorString(result, NULL));
  return 0;
}
