/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress of the drop-in: what the current driver finds is answered as the drop-in's own
 * function, so that pointers that a program looked up go on to whatever driver is current. */
#include <cushim/load.h>
#include <string.h>

/* Members of the table go by exact symbols here. */
#undef cuGetProcAddress
#undef cuGetProcAddress_v2

enum { FUNCTION_SIZE = 32 }; /* entries.S */
extern const char cushim_drop_in[CUSHIM_ENTRY_COUNT * FUNCTION_SIZE] __attribute__((visibility("hidden")));

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
  if (slot < 0) return;
  const char *ours = cushim_drop_in + slot * FUNCTION_SIZE;
  memcpy(function, &ours, sizeof ours);
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
