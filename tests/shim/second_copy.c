/* SPDX-License-Identifier: Apache-2.0 */
/* A library that contains its own copy of cushim. */
#include <cushim/load.h>

__attribute__((visibility("default"))) CushimDriver *second_copy_current(void);
__attribute__((visibility("default"))) int second_copy_counts(void);

CushimDriver *second_copy_current(void) { return cushim_driver(); }

int second_copy_counts(void) { return cushim_copies(NULL, NULL); }
