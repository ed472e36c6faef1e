/* SPDX-License-Identifier: Apache-2.0 */
/* A library that fake drivers depend on, so that its destructors run after theirs. */
#include <stddef.h>

void (*fake_epilogue)(void);

__attribute__((destructor)) static void run(void) {
  if (fake_epilogue != NULL) fake_epilogue();
}
