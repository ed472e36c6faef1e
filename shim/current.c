/* SPDX-License-Identifier: Apache-2.0 */
/* The current driver: that of the newest scope, otherwise the default driver. */
#include "internal.h"

CushimDriver *cushim_current = &cushim_default;

static CushimScope *newest;

static void publish(void) {
  __atomic_store_n(&cushim_current, newest != NULL ? newest->driver : &cushim_default, __ATOMIC_RELEASE);
}

void cushim_enter(CushimScope *scope, CushimDriver *driver) {
  cushim_lock();
  scope->driver = driver;
  scope->older = newest;
  scope->newer = NULL;
  if (newest != NULL) newest->newer = scope;
  newest = scope;
  publish();
  cushim_unlock();
}

void cushim_leave(CushimScope *scope) {
  cushim_lock();
  if (scope->older != NULL) scope->older->newer = scope->newer;
  if (scope->newer != NULL)
    scope->newer->older = scope->older;
  else
    newest = scope->older;
  publish();
  cushim_unlock();
}
