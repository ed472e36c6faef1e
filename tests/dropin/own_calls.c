/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that calls its own exported functions by name, as the dynamic linker binds them: which of the
 * functions of a name in the process it reaches is what the test wants to know. */
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
  return 100 + count; /* 103 if it reached its own */
}
