/* SPDX-License-Identifier: Apache-2.0 */
/* Makes of all entry points the toolkit's link stub, which answers the same to everything. */
#include <cuda.h>

#include "fake.h"

int fake_called(int slot) {
  (void)slot;
  return CUDA_ERROR_STUB_LIBRARY;
}
