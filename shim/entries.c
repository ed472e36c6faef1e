/* SPDX-License-Identifier: Apache-2.0 */
/* The list of entry points as data. */
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

/* Returns whether a base name has per-thread variants. If it has, the driver has them for every ABI since
 * the release that introduced them; for older versions cuGetProcAddress finds none. */
static bool has_per_thread(const char *base) {
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (entries[slot].thread[0] != '\0' && strcmp(entries[slot].base, base) == 0) return true;
  return false;
}

int cushim_find_version(const char *base, int version, bool per_thread) {
  const bool want_variant = per_thread && has_per_thread(base);
  int best = -1;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot) {
    const CushimEntryInfo *entry = &entries[slot];
    if (entry->version > version || (entry->thread[0] != '\0') != want_variant) continue;
    if (best >= 0 && entries[best].version > entry->version) continue;
    if (strcmp(entry->base, base) == 0) best = slot;
  }
  return best;
}
