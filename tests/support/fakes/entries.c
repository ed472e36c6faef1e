/* SPDX-License-Identifier: Apache-2.0 */
/* Every entry point that a driver of FAKE_VERSION has, except FAKE_WITHOUT, exported under its own name.
 * Weak, so that driver.c can define those with an implementation. */
#include <cushim/foreign_types.h>
#include <string.h>

#include "support/fakes/fake.h"

#ifndef FAKE_WITHOUT
#define FAKE_WITHOUT nothing
#endif

#define TEXT(x) #x
#define EXPANDED_TEXT(x) TEXT(x)

/* The assembler decides which entry points are exported, because the preprocessor cannot compare their
 * versions here. */
/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments)   \
  __attribute__((used)) static int fake_##symbol(void) { return fake_called(slot); } \
  __asm__(".if " #version " <= " EXPANDED_TEXT(FAKE_VERSION) "\n"                    \
          ".ifnc " #symbol "," EXPANDED_TEXT(FAKE_WITHOUT) "\n"                      \
          ".weak " #symbol "\n"                                                      \
          ".type " #symbol ", %function\n"                                           \
          ".set " #symbol ", fake_" #symbol "\n"                                     \
          ".endif\n"                                                                 \
          ".endif\n");                                                               \
  extern char exported_##symbol[] __asm__(#symbol) __attribute__((weak));
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>

typedef struct Row {
  const char *base;
  int version;
  int per_thread;
  void *function; /* null if not exported */
} Row;

static const Row rows[] = {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  {#base, version, sizeof(#thread) > 1, exported_##symbol},
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};
/* clang-format on */

enum { ROWS = sizeof rows / sizeof rows[0], FOUND = 0, UNKNOWN = 1, TOO_LOW = 2 };

void *fake_find(const char *base, int version, unsigned long long flags, int *status) {
  int has_per_thread = 0;
  for (const Row *row = rows; row < rows + ROWS; ++row)
    if (strcmp(row->base, base) == 0 && row->per_thread) has_per_thread = 1;

  const Row *newest = NULL;
  *status = UNKNOWN;
  for (const Row *row = rows; row < rows + ROWS; ++row) {
    if (row->function == NULL || strcmp(row->base, base) != 0) continue;
    if (*status == UNKNOWN) *status = TOO_LOW;
    if (row->per_thread != (flags == 2 && has_per_thread) || row->version > version) continue;
    if (newest == NULL || row->version > newest->version) newest = row;
  }
  if (newest != NULL) *status = FOUND;
  return newest != NULL ? newest->function : NULL;
}
