/* SPDX-License-Identifier: Apache-2.0 */
/* The table layout in one translation unit: with certain CUDA headers, in C or C++, with or without
 * per-thread default streams. It must be the same in all of them. */
#ifndef CUSHIM_TESTS_VIEW_H
#define CUSHIM_TESTS_VIEW_H

#include <stddef.h>

typedef struct View {
  const char *name;
  int cuda_version;
  size_t size;           /* of the table */
  const size_t *offsets; /* of its entries, in slot order */
  int entries;
  const int *slots; /* results of entry_of<&function>(); null in C */
  int slot_count;
  int stream_query; /* slot that cuStreamQuery maps to in this unit; -1 in C */
  struct View *next;
} View;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    View *views;

#endif
