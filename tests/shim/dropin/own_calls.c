/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that calls its own exported functions by name. The tests check to which function of that name
 * the dynamic linker binds the call. */
#include <stddef.h>

int cuDriverGetVersion(int *version);
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = 3;
  return 0;
}

int cuInit(unsigned flags) {
  int count = 0;
  (void)flags;
  cuDeviceGetCount(&count);
  return 100 + count; /* 103 if the call reached this driver's own function */
}
