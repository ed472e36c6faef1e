/* SPDX-License-Identifier: Apache-2.0 */
/* The table as one translation unit sees it: under some CUDA headers, in C or C++, with or without
 * per-thread default streams. All must see the same. */
#ifndef CUSHIM_TESTS_VIEW_H
#define CUSHIM_TESTS_VIEW_H

#include <stddef.h>

typedef struct View {
  const char *name;
  int cuda_version;
  size_t size;           /* of the table */
  const size_t *offsets; /* of its entries, in slot order */
  int entries;
  const int *slots; /* what supports<&function>() asks for; null in C */
  int slot_count;
  int stream_query; /* the slot of what cuStreamQuery means there; -1 in C */
  struct View *next;
} View;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    View *views;

#endif
