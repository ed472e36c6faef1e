/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's version, and cuGetProcAddress as a binary search in the list of entry points. */
#include <cushim/foreign_types.h>
#include <stdlib.h>
#include <string.h>

typedef struct Row {
  const char *base;
  int version;
  int per_thread;
  void *function;
} Row;

/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  extern char fake_##symbol[] __asm__(#symbol);
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>

static Row rows[] = {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  {#base, version, sizeof(#thread) > 1, fake_##symbol},
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};
/* clang-format on */

static int compare(const void *left, const void *right) {
  const Row *a = left;
  const Row *b = right;
  const int by_name = strcmp(a->base, b->base);
  if (by_name != 0) return by_name;
  if (a->per_thread != b->per_thread) return a->per_thread - b->per_thread;
  return a->version - b->version;
}

__attribute__((constructor)) static void sort(void) {
  qsort(rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
}

CUresult fake_get_version(int *version) __asm__("cuDriverGetVersion");
CUresult fake_get_version(int *version) {
  if (version == NULL) return CUDA_ERROR_INVALID_VALUE;
  *version = 13050;
  return CUDA_SUCCESS;
}

CUresult fake_get_proc(const char *base, void **function, int version, cuuint64_t flags,
                       int *status) __asm__("cuGetProcAddress_v2");
CUresult fake_get_proc(const char *base, void **function, int version, cuuint64_t flags, int *status) {
  if (base == NULL || function == NULL) return CUDA_ERROR_INVALID_VALUE;
  const Row key = {base, version, flags == 2, NULL};
  const Row *row = bsearch(&key, rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
  *function = row != NULL ? row->function : NULL;
  if (status != NULL) *status = row != NULL ? 0 : 1;
  return CUDA_SUCCESS;
}
