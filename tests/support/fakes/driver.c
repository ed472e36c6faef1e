/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points of a fake driver that have an implementation. Environment variables:
 *   FAKE_INIT=802          the result of cuInit
 *   FAKE_DEVICES=0         the number of devices (default: 1)
 *   FAKE_PROFILER=/path    a library whose functions cuGetProcAddress returns instead of the driver's own,
 *                          as in a driver with an injected profiler
 * Like the real driver, returns CUDA_ERROR_NOT_INITIALIZED in a process forked after cuInit, and
 * CUDA_ERROR_DEINITIALIZED after its own destructors have run. */
#define _GNU_SOURCE
#include <cushim/foreign_types.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/fakes/fake.h"

/* clang-format off */
enum {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) slot_of_##symbol = slot,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};
/* clang-format on */

static _Thread_local int last_call = -1;
static atomic_int calls;
static atomic_int lookups_too_new;
static atomic_int initialized_by;
static atomic_bool ended;

int fake_last_call(void) { return last_call; }
int fake_calls(void) { return calls; }
int fake_lookups_too_new(void) { return lookups_too_new; }

int fake_called(int slot) {
  last_call = slot;
  ++calls;
  if (ended) return CUDA_ERROR_DEINITIALIZED;
  if (initialized_by != 0 && initialized_by != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  return CUDA_SUCCESS;
}

/* Makes this library depend on the epilogue, whose destructors then run after its own. */
extern void (*fake_epilogue)(void);
void *fake_needs_epilogue = &fake_epilogue;

__attribute__((destructor)) static void end(void) { ended = true; }

static int number_from(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  return text != NULL ? atoi(text) : otherwise;
}

int fake_init(unsigned flags) __asm__("cuInit");
int fake_init(unsigned flags) {
  (void)flags;
  int result = fake_called(slot_of_cuInit);
  if (result == CUDA_SUCCESS) result = number_from("FAKE_INIT", CUDA_SUCCESS);
  if (result == CUDA_SUCCESS) initialized_by = getpid();
  return result;
}

int fake_device_count(int *count) __asm__("cuDeviceGetCount");
int fake_device_count(int *count) {
  const int result = fake_called(slot_of_cuDeviceGetCount);
  if (count != NULL && result == CUDA_SUCCESS) *count = number_from("FAKE_DEVICES", 1);
  return result;
}

/* Works before cuInit, after a fork and after the destructors. */
int fake_version(int *version) __asm__("cuDriverGetVersion");
int fake_version(int *version) {
  fake_called(slot_of_cuDriverGetVersion);
  if (version == NULL) return CUDA_ERROR_INVALID_VALUE;
  *version = FAKE_VERSION;
  return CUDA_SUCCESS;
}

#if FAKE_VERSION >= 11030

static void *past_profiler(void *function) {
  const char *path = getenv("FAKE_PROFILER");
  Dl_info ours;
  if (path == NULL || function == NULL || dladdr(function, &ours) == 0) return function;
  void *theirs = dlsym(dlopen(path, RTLD_NOW | RTLD_LOCAL), ours.dli_sname);
  return theirs != NULL ? theirs : function;
}

#if defined(FAKE_LATER_ABI)
/* An ABI of cuInit that came after the list of entry points. */
int fake_later_init(void);
int fake_later_init(void) { return CUDA_SUCCESS; }
#endif

static int look_up(const char *base, void **function, int version, cuuint64_t flags, int *status) {
  if (base == NULL || function == NULL) return CUDA_ERROR_INVALID_VALUE;
  if (version > FAKE_VERSION) {
    ++lookups_too_new;
    return CUDA_ERROR_INVALID_VALUE;
  }
  *function = past_profiler(fake_find(base, version, flags, status));
#if defined(FAKE_LATER_ABI)
  int (*const later)(void) = fake_later_init;
  if (version == FAKE_VERSION && strcmp(base, "cuInit") == 0) memcpy(function, &later, sizeof later);
#endif
  return CUDA_SUCCESS;
}

/* The lookup of CUDA 11.3, which fails in the cases in which that of 12.0 reports a status. */
int fake_look_up_v1(const char *base, void **function, int version,
                    cuuint64_t flags) __asm__("cuGetProcAddress");
int fake_look_up_v1(const char *base, void **function, int version, cuuint64_t flags) {
  fake_called(slot_of_cuGetProcAddress);
  int status = 0;
  const int result = look_up(base, function, version, flags, &status);
  return result == CUDA_SUCCESS && status != 0 ? CUDA_ERROR_NOT_FOUND : result;
}

#endif
#if FAKE_VERSION >= 12000

int fake_look_up_v2(const char *base, void **function, int version, cuuint64_t flags,
                    int *status) __asm__("cuGetProcAddress_v2");
int fake_look_up_v2(const char *base, void **function, int version, cuuint64_t flags, int *status) {
  fake_called(slot_of_cuGetProcAddress_v2);
  int unwanted;
  return look_up(base, function, version, flags, status != NULL ? status : &unwanted);
}

#endif
