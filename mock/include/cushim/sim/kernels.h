/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of kernels for the simulated driver, in C: CUSHIM_KERNELS=libmykernels.so:libothers.so, or
 * `cushim run --kernels`. Each library defines cushim_register_kernels(). A launch of a registered kernel
 * calls its function instead of executing PTX; a cubin whose kernels are registered needs no PTX. In C++
 * tests, use sim::Machine::kernel() (cushim/sim/kernel.hpp). */
#ifndef CUSHIM_SIM_KERNELS_H
#define CUSHIM_SIM_KERNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A launch, valid until the kernel's function returns. */
typedef struct CushimLaunch CushimLaunch;
/* The members of a launch. */
struct CushimLaunch {
  size_t size; /* of this structure, in bytes */
  const char *kernel;
  unsigned grid[3], block[3];
  unsigned dynamic_shared;       /* bytes in each block */
  const void *const *parameters; /* the address of each parameter's value; pointers are device addresses */
  /* Returns the memory at a device address for the host; null if the kernel may not access it. Sets
   * `*available`, if not null, to the bytes from there to the end of its allocation. */
  void *(*memory)(const CushimLaunch *launch, unsigned long long address, size_t *available);
  /* Sets a conditional handle of a graph, as cudaGraphSetConditional does in device code. Returns 0, or a
   * CUresult, which the kernel's function should return, if the kernel's context has no such handle. */
  int (*set_conditional)(const CushimLaunch *launch, unsigned long long handle, unsigned value);
};

/* Runs all blocks of a launch. Returns 0, or the CUresult of the failed launch, after which the context is
 * lost, as after a fault of a kernel. Must not call the driver, or throw. Launches of several streams may run
 * at once.
 */
typedef int (*CushimKernelFunction)(const CushimLaunch *launch);

/* The kernels of a driver, to which cushim_register_kernels() adds. Owned by the driver. */
typedef struct CushimKernels CushimKernels;
/* The members of CushimKernels. */
struct CushimKernels {
  size_t size; /* of this structure, in bytes */
  /* Registers a kernel by the name that programs pass to the driver: for C++ kernels, the mangled name.
   * `sizes` has the size in bytes of each of its `count` parameters; a launch from an image that declares
   * other sizes fails. */
  void (*add)(const CushimKernels *kernels, const char *name, CushimKernelFunction function, size_t count,
              const size_t *sizes);
};

/* Defined by the library; called once, when the driver is loaded. */
void cushim_register_kernels(const CushimKernels *kernels);

#ifdef __cplusplus
}
#endif

#endif /* CUSHIM_SIM_KERNELS_H */
