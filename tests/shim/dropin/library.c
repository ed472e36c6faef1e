/* SPDX-License-Identifier: Apache-2.0 */
/* A library that contains the drop-in. */
#include <cuda.h>

int library_init(void);
__attribute__((visibility("default"))) int library_init(void) { return (int)cuInit(0); }
