/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <cushim/table.h>

/* clang-format off */
static const size_t offsets[] = {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) offsetof(CushimDriver, symbol),
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
};
/* clang-format on */

static View view = {VIEW_NAME, CUDA_VERSION, sizeof(CushimDriver), offsets, CUSHIM_ENTRY_COUNT, NULL, 0,
                    -1,        NULL};

__attribute__((constructor)) static void enlist(void) {
  view.next = views;
  views = &view;
}
