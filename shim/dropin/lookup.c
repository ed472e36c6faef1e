/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the drop-in that do more than jump to the current driver.
 *
 * cuGetProcAddress returns the drop-in's own function for every function that the current driver finds, so
 * that pointers a program has looked up follow changes of the current driver.
 *
 * cuGetErrorName and cuGetErrorString answer from cushim's list if there is no driver. Programs print their
 * result without checking the return code. */
#include <cushim/load.h>
#include <string.h>

/* Table members are named by exact symbols here. */
#undef cuGetProcAddress
#undef cuGetProcAddress_v2

typedef void (*Function)(void);

/* The drop-in's functions with their types, under names that no header declares. A program built with
 * -fsanitize=cfi can then call a function that it looked up. */
#if defined(CUSHIM_EXPORTED_RELEASE) /* a hidden declaration would hide the exported function */
#define VISIBILITY __attribute__((visibility("default")))
#else
#define VISIBILITY __attribute__((visibility("hidden")))
#endif
/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  VISIBILITY CUresult CUDAAPI cushim_drop_in_##symbol parameters __asm__(#symbol);
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) \
  VISIBILITY CUresult CUDAAPI cushim_drop_in_##symbol(void) __asm__(#symbol);
#include <cushim/entry_points.inc>

static const Function functions[] = {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  (Function)cushim_drop_in_##symbol,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};
/* clang-format on */

/* Type of cuGetProcAddress_v2's last parameter; headers before CUDA 12.0 do not declare it. */
#if CUDA_VERSION >= 12000
typedef CUdriverProcAddressQueryResult Status;
#else
typedef int Status;
#endif
typedef CUresult(CUDAAPI *LookupV2)(const char *, void **, int, cuuint64_t, Status *);

#if defined(__clang__)
#define CALLS_A_POINTER __attribute__((no_sanitize("cfi-icall", "function")))
#else
#define CALLS_A_POINTER
#endif
#define CALLS_THE_DRIVER CALLS_A_POINTER __attribute__((visibility("hidden")))

CALLS_THE_DRIVER CUresult CUDAAPI cushim_look_up(const char *base, void **function, int version,
                                                 cuuint64_t flags);
CALLS_THE_DRIVER CUresult CUDAAPI cushim_look_up_v2(const char *base, void **function, int version,
                                                    cuuint64_t flags, Status *status);

/* Returns the release of the newest entry point in the list. */
static int newest_release(void) {
  int newest = 0;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (cushim_entry(slot)->version > newest) newest = cushim_entry(slot)->version;
  return newest;
}

typedef CUresult (*Lookup)(const char *, void **, int, cuuint64_t);

CALLS_A_POINTER static CUresult look_up(const char *base, void **function, int version, cuuint64_t flags) {
  return cushim_driver()->cuGetProcAddress(base, function, version, flags);
}

CALLS_A_POINTER static CUresult look_up_v2(const char *base, void **function, int version, cuuint64_t flags) {
  Status status;
  return ((LookupV2)cushim_driver()->cuGetProcAddress_v2)(base, function, version, flags, &status);
}

/* Replaces the driver's function by the drop-in's. Keeps the driver's function if the list does not contain
 * it: a driver later than the list may return another function than for the list's newest release. A negative
 * version means the driver's own. */
static void substitute(CUresult result, const char *base, void **function, int version, cuuint64_t flags,
                       Lookup again) {
  if (result != CUDA_SUCCESS || base == NULL || function == NULL || *function == NULL) return;
  if (version < 0) version = cushim_driver_version(cushim_driver());
  const int newest = newest_release();
  void *known = *function;
  if (version > newest) again(base, &known, newest, flags);
  if (known != *function) return;
  const int slot = cushim_find_version(base, version, (flags & 2) != 0); /* 2 is PER_THREAD_DEFAULT_STREAM */
  if (slot >= 0) memcpy(function, &functions[slot], sizeof functions[slot]);
}

CUresult CUDAAPI cushim_look_up(const char *base, void **function, int version, cuuint64_t flags) {
  const CUresult result = look_up(base, function, version, flags);
  substitute(result, base, function, version, flags, look_up);
  return result;
}

CUresult CUDAAPI cushim_look_up_v2(const char *base, void **function, int version, cuuint64_t flags,
                                   Status *status) {
  const LookupV2 driver_s = (LookupV2)cushim_driver()->cuGetProcAddress_v2;
  const CUresult result = driver_s(base, function, version, flags, status);
  substitute(result, base, function, version, flags, look_up_v2);
  return result;
}

static const char *name_of(CUresult error) {
  switch ((int)error) {
#define CUSHIM_RESULT(value, name) \
  case value:                      \
    return #name;
#include <cushim/results.inc>
    default:
      return NULL;
  }
}

/* Returns the result for the caller; names the error from cushim's list if the driver has no such
 * function. `result` is the table entry's return value. */
static CUresult name_if_unserved(CUresult result, const char *symbol, CUresult error, const char **text) {
  if (result == CUDA_SUCCESS || cushim_supports(cushim_driver(), cushim_find_symbol(symbol))) return result;
  if (text == NULL) return CUDA_ERROR_INVALID_VALUE;
  *text = name_of(error);
  return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CALLS_THE_DRIVER CUresult CUDAAPI cushim_error_name(CUresult error, const char **text);
CALLS_THE_DRIVER CUresult CUDAAPI cushim_error_string(CUresult error, const char **text);

CUresult CUDAAPI cushim_error_name(CUresult error, const char **text) {
  return name_if_unserved(cushim_driver()->cuGetErrorName(error, text), "cuGetErrorName", error, text);
}

CUresult CUDAAPI cushim_error_string(CUresult error, const char **text) {
  return name_if_unserved(cushim_driver()->cuGetErrorString(error, text), "cuGetErrorString", error, text);
}
