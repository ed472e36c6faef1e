/* SPDX-License-Identifier: Apache-2.0 */
/* The one list as data. */
#include <string.h>

#include "internal.h"

static const CushimEntryInfo entries[] = {
/* clang-format off */
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  {#symbol, #base, version, #thread},
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
    /* clang-format on */
};

int cushim_entry_count(void) { return CUSHIM_ENTRY_COUNT; }

const CushimEntryInfo *cushim_entry(int slot) {
  return slot >= 0 && slot < CUSHIM_ENTRY_COUNT ? &entries[slot] : NULL;
}

int cushim_find_symbol(const char *symbol) {
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (strcmp(entries[slot].symbol, symbol) == 0) return slot;
  return -1;
}

int cushim_find_version(const char *base, int version, bool per_thread) {
  int best = -1;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot) {
    const CushimEntryInfo *entry = &entries[slot];
    if (entry->version > version || strcmp(entry->base, base) != 0) continue;
    const bool is_per_thread = entry->thread[0] != '\0';
    if (is_per_thread && !per_thread) continue;
    if (best >= 0) {
      const bool best_is_per_thread = entries[best].thread[0] != '\0';
      if (best_is_per_thread && !is_per_thread) continue;
      if (best_is_per_thread == is_per_thread && entries[best].version > entry->version) continue;
    }
    best = slot;
  }
  return best;
}
