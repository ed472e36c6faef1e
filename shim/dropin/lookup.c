/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress of the drop-in: what the current driver finds is answered as the drop-in's own
 * function, so that pointers that a program looked up go on to whatever driver is current. */
#include <cushim/load.h>
#include <string.h>

/* Members of the table go by exact symbols here. */
#undef cuGetProcAddress
#undef cuGetProcAddress_v2

typedef void (*Function)(void);

/* The library's functions with their types, under names that no header has: a program that is checked by
 * -fsanitize=cfi may then call what it looked up. */
#if defined(CUSHIM_EXPORTED_RELEASE) /* where a hidden declaration would hide the function, too */
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

/* The second ABI's last argument; the headers of the first do not have its type. */
#if CUDA_VERSION >= 12000
typedef CUdriverProcAddressQueryResult Status;
#else
typedef int Status;
#endif
typedef CUresult(CUDAAPI *LookupV2)(const char *, void **, int, cuuint64_t, Status *);

#if defined(__clang__)
#define CALLS_THE_DRIVER __attribute__((visibility("hidden"), no_sanitize("cfi-icall", "function")))
#else
#define CALLS_THE_DRIVER __attribute__((visibility("hidden")))
#endif

CALLS_THE_DRIVER CUresult CUDAAPI cushim_look_up(const char *base, void **function, int version,
                                                 cuuint64_t flags);
CALLS_THE_DRIVER CUresult CUDAAPI cushim_look_up_v2(const char *base, void **function, int version,
                                                    cuuint64_t flags, Status *status);

/* What this list does not know stays the driver's own function. */
static void substitute(CUresult result, const char *base, void **function, int version, cuuint64_t flags) {
  if (result != CUDA_SUCCESS || base == NULL || function == NULL || *function == NULL) return;
  const int slot = cushim_find_version(base, version, (flags & 2) != 0); /* 2 is PER_THREAD_DEFAULT_STREAM */
  if (slot >= 0) memcpy(function, &functions[slot], sizeof functions[slot]);
}

CUresult CUDAAPI cushim_look_up(const char *base, void **function, int version, cuuint64_t flags) {
  const CUresult result = cushim_driver()->cuGetProcAddress(base, function, version, flags);
  substitute(result, base, function, version, flags);
  return result;
}

CUresult CUDAAPI cushim_look_up_v2(const char *base, void **function, int version, cuuint64_t flags,
                                   Status *status) {
  const LookupV2 look_up = (LookupV2)cushim_driver()->cuGetProcAddress_v2;
  const CUresult result = look_up(base, function, version, flags, status);
  substitute(result, base, function, version, flags);
  return result;
}
