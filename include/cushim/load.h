/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, opens and chooses a driver, and explains failures: the C API. C++ programs include
 * <cushim/driver.hpp>, which wraps each of these functions.
 *
 * All functions may be called from any thread at any time, also before main, after exit handlers
 * and in a forked child. None throws, exits or prints. The text that they return stays valid until
 * the process ends. */
#ifndef CUSHIM_LOAD_H
#define CUSHIM_LOAD_H

#include <cushim/table.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Diagnoses --------------------------------------------------------------------------------
 * One row for each: CUSHIM_DIAGNOSIS(enumerator, id). Messages show the id. Programs and
 * documentation (docs/reference/errors.md#id) may rely on it; its meaning never changes. */
#define CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)                          \
  CUSHIM_DIAGNOSIS(CUSHIM_OK, "ok")                                 \
  CUSHIM_DIAGNOSIS(CUSHIM_NO_DRIVER, "no-driver")                   \
  CUSHIM_DIAGNOSIS(CUSHIM_DRIVER_DISABLED, "driver-disabled")       \
  CUSHIM_DIAGNOSIS(CUSHIM_RELATIVE_PATH, "relative-path")           \
  CUSHIM_DIAGNOSIS(CUSHIM_STUB_LIBRARY, "stub-library")             \
  CUSHIM_DIAGNOSIS(CUSHIM_WRONG_ARCHITECTURE, "wrong-architecture") \
  CUSHIM_DIAGNOSIS(CUSHIM_NOT_A_LIBRARY, "not-a-library")           \
  CUSHIM_DIAGNOSIS(CUSHIM_NOT_A_DRIVER, "not-a-driver")             \
  CUSHIM_DIAGNOSIS(CUSHIM_NOT_LOADABLE, "not-loadable")             \
  CUSHIM_DIAGNOSIS(CUSHIM_DRIVER_TOO_OLD, "driver-too-old")         \
  CUSHIM_DIAGNOSIS(CUSHIM_NO_DEVICE, "no-device")                   \
  CUSHIM_DIAGNOSIS(CUSHIM_DEVICE_HIDDEN, "device-hidden")           \
  CUSHIM_DIAGNOSIS(CUSHIM_NO_PERMISSION, "no-permission")           \
  CUSHIM_DIAGNOSIS(CUSHIM_FABRIC_MANAGER, "fabric-manager")         \
  CUSHIM_DIAGNOSIS(CUSHIM_KERNEL_MISMATCH, "kernel-mismatch")       \
  CUSHIM_DIAGNOSIS(CUSHIM_COMPAT_UNSUPPORTED, "compat-unsupported") \
  CUSHIM_DIAGNOSIS(CUSHIM_FORKED, "forked")                         \
  CUSHIM_DIAGNOSIS(CUSHIM_TORN_DOWN, "torn-down")                   \
  CUSHIM_DIAGNOSIS(CUSHIM_UNKNOWN, "unknown")                       \
  CUSHIM_DIAGNOSIS(CUSHIM_INIT_FAILED, "init-failed")

/* The ids of diagnoses; docs/reference/errors.md explains each. */
typedef enum CushimDiagnosisId {
#define CUSHIM_DIAGNOSIS(enumerator, id) enumerator,
  CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)
#undef CUSHIM_DIAGNOSIS
} CushimDiagnosisId;

/* Returns the id as text, "no-driver". */
CUSHIM_API const char *cushim_diagnosis_name(CushimDiagnosisId id);

/* A library that was tried. */
typedef struct CushimAttempt {
  CushimDiagnosisId outcome; /* CUSHIM_OK for the library that was accepted */
  char source[24];           /* why it was tried: "soname", "CUSHIM_LIBRARY", "WSL", ... */
  char library[256];         /* as given to dlopen, cut to fit */
  char detail[256];          /* text of dlerror() or the result of validation; empty if the id says it all */
} CushimAttempt;

enum { CUSHIM_MAX_ATTEMPTS = 12 };

/* A diagnosis: the outcome, the libraries that were tried, and advice. Plain data that may be
 * copied. Texts that are too long are truncated. */
typedef struct CushimDiagnosis {
  CushimDiagnosisId id;
  CUresult code; /* the driver's own code if it returned one, else the code that the table's entries return */
  int driver_version; /* 12040 for 12.4; 0 if no driver was opened */
  int attempt_count;
  char what[320];
  char advice[320];
  CushimAttempt attempts[CUSHIM_MAX_ATTEMPTS]; /* only the first attempt_count are valid */
} CushimDiagnosis;

/* Writes the diagnosis as one line, "cushim[no-driver]: what (tried). advice", into at most
 * capacity bytes, with the terminating zero. Returns the length of the whole line. */
CUSHIM_API size_t cushim_diagnosis_text(const CushimDiagnosis *diagnosis, char *text, size_t capacity);

/* ---- Loading ----------------------------------------------------------------------------------*/

/* Options of cushim_load(). */
typedef struct CushimLoadOptions {
  size_t size;         /* sizeof(CushimLoadOptions), for later additions */
  const char *library; /* a path or soname to open instead of the default driver; or null */
  int at_least;        /* reject a driver below this version (12040 for 12.4); 0 accepts all */
  bool initialize;     /* also call cuInit(0) and explain its failure */
} CushimLoadOptions;

/* Opens the driver and resolves all its entry points. options may be null.
 *
 * Without options->library this is the process's default driver: the library that CUSHIM_LIBRARY
 * names (a library, or "none"; ignored in setuid programs and when built with
 * CUSHIM_NO_ENVIRONMENT); else libcuda.so.1 in the dynamic linker's search order; else
 * libcuda.so.1 in the documented folders of WSL, Tegra, containers and NixOS. A library that is
 * already loaded under that soname is used. Each candidate is opened by its absolute path, after a
 * check of the file, and validated by asking its version. Relative folders of the search path, the
 * toolkit's link stub, and files that are not a driver are skipped.
 *
 * Returns the driver, or null on failure. *diagnosis, which may be null, receives the reason of a
 * failure, and on success the libraries that were tried. If the driver is older than
 * options->at_least, the result is null, but the driver stays the default driver, and raw calls
 * still reach it. The same library gives the same driver each time. Loading never changes the
 * current driver, and may be repeated after a failure.
 *
 * Driver calls: cuDriverGetVersion, cuGetProcAddress for each entry (dlsym if the driver has no
 * such call); cuInit and cuDeviceGetCount if options->initialize. */
CUSHIM_API CushimDriver *cushim_load(const CushimLoadOptions *options, CushimDiagnosis *diagnosis);

/* Returns the process's default driver, whether it is open or not. */
CUSHIM_API CushimDriver *cushim_default_driver(void);

/* Makes a driver from functions of this program. Calls resolve once for each entry, with its
 * exported symbol; it returns the function, or null if the driver does not implement the entry.
 * version is the result of cushim_driver_version(). The name, which is copied, appears in reports.
 * The driver is never freed. Returns null if there is not enough memory. */
CUSHIM_API CushimDriver *cushim_driver_from(const char *name, int version,
                                            void (*(*resolve)(void *data, const char *symbol))(void),
                                            void *data);

/* Explains a code that cuInit or a later call of this driver returned: examines the process, its
 * environment and the device nodes. Makes no driver call. */
CUSHIM_API void cushim_explain(CushimDriver *driver, CUresult code, CushimDiagnosis *diagnosis);

/* ---- Properties of a driver ------------------------------------------------------------------- */

/* Returns the path of the library that was opened, or the name of an in-process driver. Empty for
 * the default driver before it is opened, and if there is none. */
CUSHIM_API const char *cushim_driver_name(const CushimDriver *driver);

/* Returns 12040 for a driver that implements CUDA 12.4; 0 if not opened. */
CUSHIM_API int cushim_driver_version(const CushimDriver *driver);

/* How the entry points of a driver were resolved. */
typedef enum CushimLookup {
  CUSHIM_LOOKUP_NONE,        /* not opened */
  CUSHIM_LOOKUP_GET_PROC_V2, /* cuGetProcAddress_v2, drivers of 12.0 and later */
  CUSHIM_LOOKUP_GET_PROC_V1, /* the 4-argument cuGetProcAddress, 11.3 to 11.8 */
  CUSHIM_LOOKUP_DLSYM,       /* older drivers: exported symbols */
  CUSHIM_LOOKUP_IN_PROCESS   /* made by cushim_driver_from */
} CushimLookup;

/* Returns how this driver's entry points were resolved. */
CUSHIM_API CushimLookup cushim_driver_lookup(const CushimDriver *driver);

/* ---- Entry points -----------------------------------------------------------------------------*/

/* A row of the list of entry points. */
typedef struct CushimEntryInfo {
  const char *symbol; /* "cuMemcpyHtoD_v2_ptds" */
  const char *base;   /* "cuMemcpyHtoD" */
  int version;        /* 7000: the release that this ABI came with */
  const char *thread; /* "", "_ptds" or "_ptsz" */
} CushimEntryInfo;

/* Return the number of entries that this library knows, and one of them by its slot (the index in
 * tools/generator/slots.txt); null for a slot beyond the last. */
CUSHIM_API int cushim_entry_count(void);
CUSHIM_API const CushimEntryInfo *cushim_entry(int slot);

/* Returns the slot of an exported symbol, or -1. */
CUSHIM_API int cushim_find_symbol(const char *symbol);

/* Returns the slot that cuGetProcAddress(base, version) means: the newest ABI that is not newer
 * than version; with per_thread, of the per-thread variants if the base has any. Returns -1 if
 * there is none. Equal to the answers of driver 580.159 for every base, version and flag. */
CUSHIM_API int cushim_find_version(const char *base, int version, bool per_thread);

/* Returns whether the driver itself implements this slot, and not an error stub. Opens the default
 * driver if it is not open. */
CUSHIM_API bool cushim_supports(CushimDriver *driver, int slot);

/* Writes the reason why the driver does not implement this slot ("cuX came with CUDA 13.0; this
 * driver serves 12.4"), or an empty text if it does. Returns the length of the whole text. */
CUSHIM_API size_t cushim_why_missing(CushimDriver *driver, int slot, char *text, size_t capacity);

/* Returns the driver's own function for a slot, without overlays; null if the driver has none. */
CUSHIM_API void (*cushim_own_function(CushimDriver *driver, int slot))(void);

/* Replaces the function of a slot in the effective table, for all threads and at once; null
 * restores the driver's own function, which stays available as cushim_own_function(). For layers
 * such as hooks. The function must have the entry's type, and must stay valid as long as calls can
 * reach it. Returns false if there is not enough memory or no such slot. */
CUSHIM_API bool cushim_overlay(CushimDriver *driver, int slot, void (*function)(void));

/* ---- The current driver -----------------------------------------------------------------------*/

/* A scope in which a driver is current, for all threads. Scopes may end in any order; the newest
 * living scope decides. The caller owns the object, which must not move until the scope ends. */
typedef struct CushimScope {
  CushimDriver *driver;
  struct CushimScope *older;
  struct CushimScope *newer;
} CushimScope;

/* Begins a scope: makes the driver current for all threads until cushim_leave(). */
CUSHIM_API void cushim_enter(CushimScope *scope, CushimDriver *driver);
/* Ends a scope. Scopes may end in any order. */
CUSHIM_API void cushim_leave(CushimScope *scope);

/* ---- Copies -----------------------------------------------------------------------------------*/

/* A copy of cushim in this process, with its version. Each static copy has its own current driver.
 * cushim_copies() calls visit for each file mapped into this process that contains a copy, and
 * returns their number. */
typedef struct CushimCopy {
  const char *path; /* valid during the visit only; for the main program its own path */
  int version_major, version_minor, version_patch;
  bool is_this_one;
} CushimCopy;
CUSHIM_API int cushim_copies(void (*visit)(void *data, const CushimCopy *copy), void *data);

#ifdef __cplusplus
}
#endif

#endif
