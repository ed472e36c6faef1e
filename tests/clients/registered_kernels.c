/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that clients launch from a cubin without PTX: to[i] = a[i] + b[i]. */
#include <cushim/sim/kernels.h>

static int add(const CushimLaunch *launch) {
  const unsigned long long count = *(const unsigned long long *)launch->parameters[3];
  float *vectors[3];
  for (int i = 0; i < 3; ++i) {
    size_t available = 0;
    vectors[i] = launch->memory(launch, *(const unsigned long long *)launch->parameters[i], &available);
    if (vectors[i] == NULL || available < count * sizeof(float)) return 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
  }
  for (unsigned long long i = 0; i < count; ++i) vectors[0][i] = vectors[1][i] + vectors[2][i];
  return 0;
}

void cushim_register_kernels(const CushimKernels *kernels) {
  const size_t sizes[] = {8, 8, 8, 8};
  kernels->add(kernels, "add", add, 4, sizes);
}
