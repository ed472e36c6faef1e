/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver of the benchmarks: every entry point, without any effect. Weak, so that lookup.c can
 * define those that need an implementation. */
#include <cushim/foreign_types.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments)   \
  __attribute__((weak)) CUresult fake_##symbol parameters __asm__(#symbol);         \
  CUresult fake_##symbol parameters { return CUDA_SUCCESS; }
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  __attribute__((weak)) CUresult fake_##symbol(void) __asm__(#symbol);              \
  CUresult fake_##symbol(void) { return CUDA_SUCCESS; }
#include <cushim/entry_points.inc>
/* clang-format on */
