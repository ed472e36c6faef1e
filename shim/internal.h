/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations shared by the files of the shim. Each file uses functions and variables of these
 * others; tools/lint/arrows.py checks that the list is complete and has no circle:
 *
 *   load -> driver, diagnose_result, find, diagnose
 *   diagnose_result -> driver, diagnose
 *   current -> driver
 *   driver -> find, resolve, entries, diagnose
 *   find -> candidates, elf, diagnose
 *   resolve -> entries
 *   dropin -> current, driver, entries
 *
 * lazy.S is the part of driver.c that must be in assembly. */
#ifndef CUSHIM_INTERNAL_H
#define CUSHIM_INTERNAL_H

#include <cushim/load.h>
#include <sys/types.h>

typedef void (*CushimFunction)(void);

/* A table slot, with the function type erased. */
typedef CushimFunction __attribute__((may_alias)) CushimCell;

/* Converts the void pointer that dlsym or cuGetProcAddress returned to a function pointer, as POSIX
 * allows. */
static inline CushimFunction cushim_as_function(void *object) {
  CushimFunction function;
  __builtin_memcpy(&function, &object, sizeof function);
  return function;
}

/* Attribute of functions that call the driver through a pointer: the driver is not part of the program
 * that -fsanitize=cfi checks. The same as in CushimEntry (cushim/table.h). */
#if defined(__clang__)
#define CUSHIM_CALLS_DRIVER __attribute__((no_sanitize("cfi-icall", "function")))
#else
#define CUSHIM_CALLS_DRIVER
#endif

_Static_assert(sizeof(CushimDriver) == 2 * sizeof(void *) + CUSHIM_TABLE_CAPACITY * sizeof(CushimFunction),
               "an entry of the table is one pointer");

/* Copies text and truncates it to capacity. Runs in the first call of the driver, where snprintf would be
 * measurable. */
static inline void cushim_copy_text(char *to, size_t capacity, const char *from) {
  size_t length = 0;
  while (length + 1 < capacity && from[length] != '\0') ++length;
  __builtin_memcpy(to, from, length);
  to[length] = '\0';
}

/* ---- lazy.S -----------------------------------------------------------------------------------*/

/* Return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND (302) and CUDA_ERROR_SHARED_OBJECT_INIT_FAILED (303).
 * Valid in any table slot. */
CUresult cushim_missing_symbol(void);
CUresult cushim_missing_driver(void);

/* The default driver. Its table slots start as stubs that resolve themselves at the first call. */
extern CushimDriver cushim_default;
#define CUSHIM_LAZY_STUB_SIZE 16
extern const char cushim_lazy_stubs[CUSHIM_TABLE_CAPACITY * CUSHIM_LAZY_STUB_SIZE];

/* Called by the lazy stubs: opens the default driver if necessary, resolves the slot, and returns the
 * function to jump to. */
CushimFunction cushim_bind(unsigned slot);

/* ---- find.c -----------------------------------------------------------------------------------*/

typedef struct CushimFound {
  void *handle;
  int version;
  char *path; /* allocated; the caller frees it unless a driver took ownership (then null) */
} CushimFound;

/* Finds and opens a driver: `library` alone if it is not null, otherwise by the default search. Records
 * the attempts in diagnosis, and the reason on failure. Takes no lock: two threads may both open the
 * library. */
bool cushim_find(const char *library, CushimFound *found, CushimDiagnosis *diagnosis);

/* ---- candidates.c ------------------------------------------------------------------------------*/

/* Calls visit for each path under which the dynamic linker would look for a library of this name, in the
 * linker's order, until visit returns true. Returns whether visit did. Paths may be relative and need not
 * exist. Opens no file. */
bool cushim_each_candidate(const char *name, bool (*visit)(void *data, const char *path), void *data);

/* Returns whether the linker would resolve this name to a loaded object, without searching any path. */
bool cushim_is_loaded(const char *name);

/* The cache file that ldconfig writes; tests set another path. */
extern const char *cushim_linker_cache;

/* ---- elf.c ------------------------------------------------------------------------------------*/

/* Checks that the dynamic linker can open this file safely. Must be called before dlopen, which faults on
 * a truncated file. Returns CUSHIM_NO_DRIVER if the file does not exist. */
CushimDiagnosisId cushim_inspect_elf(const char *path, char *detail, size_t capacity);

/* ---- resolve.c --------------------------------------------------------------------------------*/

typedef struct CushimResolver {
  CushimLookup lookup;
  void *handle;
  int version;
  CushimFunction get;
} CushimResolver;

CushimResolver cushim_make_resolver(void *handle, int version);

/* Returns the driver's function with exactly the ABI of this entry point, or null. */
CushimFunction cushim_resolve(const CushimResolver *resolver, int slot);

/* ---- driver.c ---------------------------------------------------------------------------------*/

struct CushimDriverState {
  CushimDriver *driver;
  CushimDriverState *next;
  CushimResolver resolver; /* CUSHIM_LOOKUP_NONE until the driver is opened */
  pid_t opened_by;
  bool absent; /* a search found no driver; failure holds the reason */
  /* By slot: null, or the function that the table slot holds without an overlay. Allocated with the first
   * overlay on this driver. */
  CushimFunction *below;
  char *name; /* of an open driver; allocated */
  CushimDiagnosis failure;
};

/* The mutex that guards all changes to drivers and scopes. Never held while calling code outside the shim:
 * the dynamic linker holds a lock of its own, and a constructor that it runs may call the shim. */
void cushim_lock(void);
void cushim_unlock(void);

/* Returns the driver of this library: the existing one, otherwise a new one whose entry points are all
 * unresolved. Returns null if out of memory. */
CushimDriver *cushim_driver_for(CushimFound *found);

/* Makes this library the default driver. If two threads race, the first one wins. */
void cushim_open_default(CushimFound *found);

/* Marks the default driver as absent: every unresolved entry point returns an error. */
void cushim_close_default(const CushimDiagnosis *failure);

/* Resolves all unresolved entry points. */
void cushim_resolve_all(CushimDriver *driver);

/* ---- diagnose.c -------------------------------------------------------------------------------*/

/* Resets the diagnosis to CUSHIM_OK without attempts. */
void cushim_reset(CushimDiagnosis *diagnosis);

/* Records one library that was tried. */
void cushim_add_attempt(CushimDiagnosis *diagnosis, CushimDiagnosisId outcome, const char *source,
                        const char *library, const char *detail);

/* Sets id and advice, and what from a format of printf. */
__attribute__((format(printf, 4, 5))) void cushim_conclude(CushimDiagnosis *diagnosis, CushimDiagnosisId id,
                                                           const char *advice, const char *what, ...);

/* Sets id, what and advice from the attempts, after a search that accepted none of them. */
void cushim_conclude_search(CushimDiagnosis *diagnosis);

/* Sets id, what and advice for a driver that is older than at_least. */
void cushim_conclude_too_old(CushimDiagnosis *diagnosis, int version, int at_least);

/* Returns "CUDA_ERROR_NO_DEVICE" for 100, and "unknown code" for a code that no supported toolkit names. */
const char *cushim_result_name(CUresult code);

/* ---- diagnose_result.c ------------------------------------------------------------------------*/

/* The directory of the driver's device nodes; tests set another. */
extern const char *cushim_device_folder;

#endif
