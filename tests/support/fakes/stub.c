/* SPDX-License-Identifier: Apache-2.0 */
/* Makes every entry point return CUDA_ERROR_STUB_LIBRARY (34), as the toolkit's link stub does. */
#include <cuda.h>

#include "support/fakes/fake.h"

int fake_called(int slot) {
  (void)slot;
  return CUDA_ERROR_STUB_LIBRARY;
}
