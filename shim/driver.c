/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers: their own functions, the overlays, and the resulting table. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* ---- The lock ---------------------------------------------------------------------------------*/

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take(void) { pthread_mutex_lock(&mutex); }
static void give(void) { pthread_mutex_unlock(&mutex); }

/* In a child forked while another thread held the lock, the lock must be free. */
static void survive_fork(void) { pthread_atfork(take, give, give); }

void cushim_lock(void) {
  pthread_once(&once, survive_fork);
  take();
}

void cushim_unlock(void) { give(); }

/* ---- State ------------------------------------------------------------------------------------*/

extern CushimDriverState cushim_default_state;
CushimDriverState cushim_default_state = {.driver = &cushim_default};

/* All drivers, so that opening the same library again finds its driver. The default driver is the last. */
static CushimDriverState *drivers = &cushim_default_state;

_Static_assert(CUSHIM_TABLE_CAPACITY == 1024, "lazy.S has this number too");

static bool is_open(const CushimDriverState *state) {
  return __atomic_load_n(&state->resolver.lookup, __ATOMIC_ACQUIRE) != CUSHIM_LOOKUP_NONE;
}

static const CushimFunction missing_symbol = (CushimFunction)cushim_missing_symbol;
static const CushimFunction missing_driver = (CushimFunction)cushim_missing_driver;

static bool in_table(int slot) { return slot >= 0 && slot < CUSHIM_TABLE_CAPACITY; }

static CushimCell *cell(CushimDriver *driver, int slot) {
  return (CushimCell *)((char *)driver + 2 * sizeof(void *)) + slot;
}

/* Returns the location of the driver's own function for the slot: in the table unless the slot has an
 * overlay. */
static CushimCell *own_cell(const CushimDriverState *state, int slot) {
  CushimFunction *below = __atomic_load_n(&state->below, __ATOMIC_ACQUIRE);
  if (below != NULL && __atomic_load_n(&below[slot], __ATOMIC_ACQUIRE) != NULL) return &below[slot];
  return cell(state->driver, slot);
}

static CushimFunction own(const CushimDriverState *state, int slot) {
  return __atomic_load_n(own_cell(state, slot), __ATOMIC_ACQUIRE);
}

/* Returns whether the slot's own function has not been looked up yet. */
static bool is_unresolved(CushimFunction function, int slot) {
  CushimFunction lazy;
  const char *stub = cushim_lazy_stubs + slot * CUSHIM_LAZY_STUB_SIZE;
  memcpy(&lazy, &stub, sizeof lazy);
  return function == lazy || function == missing_driver;
}

/* Stores the slot's own function; null means missing. The first caller wins. Requires the lock. */
static void settle(CushimDriverState *state, int slot, CushimFunction function) {
  if (function == NULL) function = missing_symbol;
  if (is_unresolved(own(state, slot), slot))
    __atomic_store_n(own_cell(state, slot), function, __ATOMIC_RELEASE);
}

/* ---- Creation ---------------------------------------------------------------------------------*/

static void open_state(CushimDriverState *state, CushimFound *found) {
  const CushimResolver resolver = cushim_make_resolver(found->handle, found->version);
  cushim_lock();
  if (!is_open(state)) {
    state->name = found->path;
    found->path = NULL;
    state->opened_by = getpid();
    state->resolver.handle = resolver.handle;
    state->resolver.version = resolver.version;
    state->resolver.get = resolver.get;
    __atomic_store_n(&state->resolver.lookup, resolver.lookup, __ATOMIC_RELEASE);
  }
  cushim_unlock();
}

static void discard(CushimDriver *driver) {
  free(driver->state->name);
  free(driver->state);
  free(driver);
}

static CushimDriver *allocate(void) {
  CushimDriver *driver = calloc(1, sizeof *driver);
  CushimDriverState *state = calloc(1, sizeof *state);
  if (driver == NULL || state == NULL) {
    free(driver);
    free(state);
    return NULL;
  }
  driver->size = sizeof *driver;
  driver->state = state;
  state->driver = driver;
  for (int slot = 0; slot < CUSHIM_TABLE_CAPACITY; ++slot) *cell(driver, slot) = missing_driver;
  return driver;
}

/* Makes the driver reachable; from now on it is never freed. Requires the lock. */
static void enlist(CushimDriverState *state) {
  state->next = drivers;
  drivers = state;
}

/* Returns the driver that was opened from this handle, or null. Requires the lock. */
static CushimDriver *find_driver(void *handle) {
  for (CushimDriverState *state = drivers; state != NULL; state = state->next)
    if (is_open(state) && state->resolver.handle == handle) return state->driver;
  return NULL;
}

CushimDriver *cushim_driver_for(CushimFound *found) {
  cushim_lock();
  CushimDriver *driver = find_driver(found->handle);
  cushim_unlock();
  if (driver != NULL) return driver;

  CushimDriver *fresh = allocate();
  if (fresh == NULL) return NULL;
  open_state(fresh->state, found);
  cushim_lock();
  driver = find_driver(found->handle); /* another thread may have added it */
  if (driver == NULL) {
    enlist(fresh->state);
    driver = fresh;
  }
  cushim_unlock();
  if (driver != fresh) discard(fresh);
  return driver;
}

CushimDriver *cushim_driver_from(const char *name, int version,
                                 void (*(*resolve)(void *data, const char *symbol))(void), void *data) {
  CushimDriver *driver = allocate();
  if (driver == NULL) return NULL;
  CushimDriverState *state = driver->state;
  state->name = strdup(name);
  if (state->name == NULL) {
    discard(driver);
    return NULL;
  }
  state->opened_by = getpid();
  state->resolver.version = version;
  state->resolver.lookup = CUSHIM_LOOKUP_IN_PROCESS;
  for (int slot = 0; slot < CUSHIM_TABLE_CAPACITY; ++slot)
    settle(state, slot, slot < CUSHIM_ENTRY_COUNT ? resolve(data, cushim_entry(slot)->symbol) : NULL);
  cushim_lock();
  enlist(state);
  cushim_unlock();
  return driver;
}

void cushim_open_default(CushimFound *found) { open_state(&cushim_default_state, found); }

void cushim_close_default(const CushimDiagnosis *failure) {
  CushimDriverState *state = &cushim_default_state;
  cushim_lock();
  if (!is_open(state)) {
    state->failure = *failure;
    for (int slot = 0; slot < CUSHIM_TABLE_CAPACITY; ++slot)
      __atomic_store_n(own_cell(state, slot), missing_driver, __ATOMIC_RELEASE);
    __atomic_store_n(&state->absent, true, __ATOMIC_RELEASE);
  }
  cushim_unlock();
}

CushimDriver *cushim_default_driver(void) { return &cushim_default; }

/* ---- Binding ----------------------------------------------------------------------------------*/

/* Resolves the slot; opens the default driver if necessary. */
static void bind(CushimDriverState *state, int slot) {
  if (!is_unresolved(own(state, slot), slot)) return;
  if (!is_open(state)) {
    /* Searched once; only an explicit cushim_load() searches again. */
    if (__atomic_load_n(&state->absent, __ATOMIC_ACQUIRE)) return;
    CushimFound found;
    CushimDiagnosis diagnosis;
    cushim_reset(&diagnosis);
    if (!cushim_find(NULL, &found, &diagnosis)) {
      cushim_close_default(&diagnosis);
      return;
    }
    cushim_open_default(&found);
    free(found.path);
  }
  const CushimFunction function = cushim_resolve(&state->resolver, slot);
  cushim_lock();
  settle(state, slot, function);
  cushim_unlock();
}

CushimFunction cushim_bind(unsigned slot) {
  bind(&cushim_default_state, (int)slot);
  return __atomic_load_n(cell(&cushim_default, (int)slot), __ATOMIC_ACQUIRE);
}

void cushim_resolve_all(CushimDriver *driver) {
  CushimDriverState *state = driver->state;
  CushimFunction found[CUSHIM_TABLE_CAPACITY] = {NULL};
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (is_unresolved(own(state, slot), slot)) found[slot] = cushim_resolve(&state->resolver, slot);
  cushim_lock();
  for (int slot = 0; slot < CUSHIM_TABLE_CAPACITY; ++slot) settle(state, slot, found[slot]);
  cushim_unlock();
}

/* ---- Queries ----------------------------------------------------------------------------------*/

const char *cushim_driver_name(const CushimDriver *driver) {
  return is_open(driver->state) ? driver->state->name : "";
}

int cushim_driver_version(const CushimDriver *driver) {
  return is_open(driver->state) ? driver->state->resolver.version : 0;
}

CushimLookup cushim_driver_lookup(const CushimDriver *driver) {
  return __atomic_load_n(&driver->state->resolver.lookup, __ATOMIC_ACQUIRE);
}

CushimFunction cushim_own_function(CushimDriver *driver, int slot) {
  if (!in_table(slot)) return NULL;
  bind(driver->state, slot);
  cushim_lock();
  const CushimFunction function = own(driver->state, slot);
  cushim_unlock();
  return is_unresolved(function, slot) || function == missing_symbol ? NULL : function;
}

bool cushim_supports(CushimDriver *driver, int slot) { return cushim_own_function(driver, slot) != NULL; }

size_t cushim_why_missing(CushimDriver *driver, int slot, char *text, size_t capacity) {
  const CushimEntryInfo *entry = cushim_entry(slot);
  int length;
  if (entry == NULL) {
    length = snprintf(text, capacity, "slot %d is not an entry point", slot);
  } else if (cushim_supports(driver, slot)) {
    length = snprintf(text, capacity, "%s", "");
  } else if (!is_open(driver->state)) {
    cushim_lock();
    const CushimDiagnosis failure = driver->state->failure;
    cushim_unlock();
    char why[1024];
    cushim_diagnosis_text(&failure, why, sizeof why);
    length = snprintf(text, capacity, "%s is missing because no driver was found: %s", entry->symbol, why);
  } else {
    const CushimResolver *resolver = &driver->state->resolver;
    if (entry->version > resolver->version)
      length = snprintf(text, capacity, "%s was added in CUDA %d.%d; the driver %s supports CUDA %d.%d",
                        entry->symbol, entry->version / 1000, entry->version % 1000 / 10, driver->state->name,
                        resolver->version / 1000, resolver->version % 1000 / 10);
    else
      length = snprintf(text, capacity, "the driver %s (CUDA %d.%d) does not have %s", driver->state->name,
                        resolver->version / 1000, resolver->version % 1000 / 10, entry->symbol);
  }
  return length < 0 ? 0 : (size_t)length;
}

bool cushim_overlay(CushimDriver *driver, int slot, CushimFunction function) {
  if (!in_table(slot)) return false;
  CushimDriverState *state = driver->state;
  bind(state, slot);
  cushim_lock();
  if (state->below == NULL && function != NULL)
    __atomic_store_n(&state->below, calloc(CUSHIM_TABLE_CAPACITY, sizeof *state->below), __ATOMIC_RELEASE);
  CushimFunction *below = state->below;
  if (function != NULL && below != NULL) {
    if (below[slot] == NULL) __atomic_store_n(&below[slot], *cell(driver, slot), __ATOMIC_RELEASE);
    __atomic_store_n(cell(driver, slot), function, __ATOMIC_RELEASE);
  } else if (below != NULL && below[slot] != NULL) {
    __atomic_store_n(cell(driver, slot), below[slot], __ATOMIC_RELEASE);
    __atomic_store_n(&below[slot], (CushimFunction)NULL, __ATOMIC_RELEASE);
  }
  cushim_unlock();
  return function == NULL || below != NULL;
}
