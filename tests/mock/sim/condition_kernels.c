/* SPDX-License-Identifier: Apache-2.0 */
/* A library of kernels in C for conditional_kernels_test.cpp. */
#include <cushim/sim/kernels.h>

/* count_down(handle, counter): decrements a word and sets the handle to it. */
static int count_down(const CushimLaunch *launch) {
  unsigned *const counter = launch->memory(launch, *(const unsigned long long *)launch->parameters[1], NULL);
  if (counter == NULL) return 700;
  return launch->set_conditional(launch, *(const unsigned long long *)launch->parameters[0], --*counter);
}

void cushim_register_kernels(const CushimKernels *kernels) {
  const size_t sizes[] = {8, 8};
  kernels->add(kernels, "count_down", count_down, 2, sizes);
}
