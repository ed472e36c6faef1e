/* SPDX-License-Identifier: Apache-2.0 */
/* What an entry holds that nothing serves: a function of the entry's own type that says so. */
#include "internal.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments)                    \
  static CUresult CUDAAPI missing_symbol_##symbol parameters {                                       \
    return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;                                                \
  }                                                                                                  \
  static CUresult CUDAAPI missing_driver_##symbol parameters {                                       \
    return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;                                                     \
  }
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments)            \
  static CUresult missing_symbol_##symbol(void) { return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND; } \
  static CUresult missing_driver_##symbol(void) { return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED; }
#include <cushim/entry_points.inc>

/* For slots that a newer cushim may know. */
static CUresult missing_symbol_spare(void) { return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND; }
static CUresult missing_driver_spare(void) { return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED; }

static const CushimFunction missing_symbol[] = {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  (CushimFunction)missing_symbol_##symbol,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};

static const CushimFunction missing_driver[] = {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  (CushimFunction)missing_driver_##symbol,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};
/* clang-format on */

CushimFunction cushim_missing_symbol_stub(int slot) {
  return slot < CUSHIM_ENTRY_COUNT ? missing_symbol[slot] : (CushimFunction)missing_symbol_spare;
}

CushimFunction cushim_missing_driver_stub(int slot) {
  return slot < CUSHIM_ENTRY_COUNT ? missing_driver[slot] : (CushimFunction)missing_driver_spare;
}
