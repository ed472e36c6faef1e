/* SPDX-License-Identifier: Apache-2.0 */
/* Unmodified code, linked with cushim::cuda_driver. This program starts with and without a driver. */
#include <stdio.h>

#include "fill.h"

int main(void) {
  puts(fill_on_device(42) ? "filled on the GPU" : "no GPU was used; the program goes on");
  return 0;
}
