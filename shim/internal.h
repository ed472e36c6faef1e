/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the shim share. Arrows point one way:
 *   load -> find -> elf;  load -> driver -> resolve, lazy, entries;  all -> diagnose;
 *   current and copies stand alone. */
#ifndef CUSHIM_INTERNAL_H
#define CUSHIM_INTERNAL_H

#include <cushim/load.h>
#include <sys/types.h>

typedef void (*CushimFunction)(void);

/* One cell of a table, whatever its entry's type. */
typedef CushimFunction __attribute__((may_alias)) CushimCell;

/* dlsym and cuGetProcAddress answer functions as object pointers, as POSIX allows. */
static inline CushimFunction cushim_as_function(void *object) {
  CushimFunction function;
  __builtin_memcpy(&function, &object, sizeof function);
  return function;
}

/* For a function that calls the driver through a pointer: the driver is not part of the program that
 * -fsanitize=cfi checks. As in CushimEntry (cushim/table.h). */
#if defined(__clang__)
#define CUSHIM_CALLS_DRIVER __attribute__((no_sanitize("cfi-icall", "function")))
#else
#define CUSHIM_CALLS_DRIVER
#endif

_Static_assert(sizeof(CushimDriver) == 2 * sizeof(void *) + CUSHIM_TABLE_CAPACITY * sizeof(CushimFunction),
               "an entry of the table is one pointer");

/* Copies a text, cut to its room; a first call of the driver passes here, and snprintf would show. */
static inline void cushim_copy_text(char *to, size_t capacity, const char *from) {
  size_t length = 0;
  while (length + 1 < capacity && from[length] != '\0') ++length;
  __builtin_memcpy(to, from, length);
  to[length] = '\0';
}

/* ---- lazy.S -----------------------------------------------------------------------------------*/

/* Functions for any slot that return SHARED_OBJECT_SYMBOL_NOT_FOUND and SHARED_OBJECT_INIT_FAILED. */
CUresult cushim_missing_symbol(void);
CUresult cushim_missing_driver(void);

/* The default driver. Its entries start as stubs that bind themselves at their first call. */
extern CushimDriver cushim_default;
#define CUSHIM_LAZY_STUB_SIZE 16
extern const char cushim_lazy_stubs[CUSHIM_TABLE_CAPACITY * CUSHIM_LAZY_STUB_SIZE];

/* What those stubs call: opens the default driver if need be, resolves the slot, and returns the
 * function to go on with. */
CushimFunction cushim_bind(unsigned slot);

/* ---- find.c -----------------------------------------------------------------------------------*/

typedef struct CushimFound {
  void *handle;
  int version;
  char path[256];
} CushimFound;

/* Finds and opens a driver: library alone if given, else by the default search. Records what was
 * tried in diagnosis, and why it failed if it did. Holds no lock: two threads may both open. */
bool cushim_find(const char *library, CushimFound *found, CushimDiagnosis *diagnosis);

/* ---- elf.c ------------------------------------------------------------------------------------*/

/* Whether the dynamic linker can be let loose on this file. A file that is cut short would make it
 * fault, so this must be asked before dlopen. CUSHIM_NO_DRIVER: there is no such file. */
CushimDiagnosisId cushim_inspect_elf(const char *path, char *detail, size_t capacity);

/* ---- resolve.c --------------------------------------------------------------------------------*/

typedef struct CushimResolver {
  CushimLookup lookup;
  void *handle;
  int version;
  CushimFunction get;
} CushimResolver;

CushimResolver cushim_make_resolver(void *handle, int version);

/* The driver's function for exactly this row's ABI, or null. */
CushimFunction cushim_resolve(const CushimResolver *resolver, int slot);

/* ---- driver.c ---------------------------------------------------------------------------------*/

struct CushimDriverState {
  CushimDriver *driver;
  CushimDriverState *next;
  CushimResolver resolver; /* lookup is NONE until the driver is opened */
  pid_t opened_by;
  bool absent; /* a search found no driver, for the reason in failure */
  /* By slot: null, or what the table would hold if nothing were laid over the slot. Allocated when
   * something is first laid over a slot of this driver. */
  CushimFunction *below;
  char name[256];
  CushimDiagnosis failure;
};

/* The lock over all changes to drivers and scopes. Never held while calling out of the shim: the
 * dynamic linker has a lock of its own, and a constructor that it runs may come back to us. */
void cushim_lock(void);
void cushim_unlock(void);

/* The driver of this library: the one that was made from it before, else a new one whose entries are
 * all unresolved. Null if memory is out. */
CushimDriver *cushim_driver_for(const CushimFound *found);

/* Says that the default driver is this library now. Keeps the first if two threads race. */
void cushim_open_default(const CushimFound *found);

/* Says that there is no default driver: every entry that is not resolved returns an error. */
void cushim_close_default(const CushimDiagnosis *failure);

/* Resolves what is not resolved yet. */
void cushim_resolve_all(CushimDriver *driver);

/* ---- diagnose.c -------------------------------------------------------------------------------*/

/* Starts over: all is well so far. */
void cushim_reset(CushimDiagnosis *diagnosis);

/* Records one library that was tried. */
void cushim_note_attempt(CushimDiagnosis *diagnosis, CushimDiagnosisId outcome, const char *place,
                         const char *library, const char *detail);

/* Fills id, what and advice from the attempts: none of them was accepted. */
void cushim_conclude_search(CushimDiagnosis *diagnosis);

/* Fills them for a driver that is older than what was asked for. */
void cushim_conclude_too_old(CushimDiagnosis *diagnosis, int version, int at_least);

/* "CUDA_ERROR_NO_DEVICE" for 100, "unknown code" for what no supported toolkit names. */
const char *cushim_result_name(CUresult code);

/* The folder of the driver's device nodes; tests point it elsewhere. */
extern const char *cushim_device_folder;

#endif
