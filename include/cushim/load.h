/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, opening and choosing a driver, and saying what is wrong with it: the C face.
 * C++ programs include <cushim/driver.hpp>, which wraps these functions one to one.
 *
 * All functions may be called from any thread at any time, also before main, after exit handlers
 * and in a forked child. None throws, none exits, none prints. Text that they return lives as long
 * as the process. */
#ifndef CUSHIM_LOAD_H
#define CUSHIM_LOAD_H

#include <cushim/table.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Diagnoses --------------------------------------------------------------------------------
 * One row each: CUSHIM_DIAGNOSIS(enumerator, id). The id is what messages show and what programs
 * and documentation (docs/reference/errors.md#id) may rely on; it never changes its meaning. */
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

/* The stable ids of diagnoses; docs/reference/errors.md explains each. */
typedef enum CushimDiagnosisId {
#define CUSHIM_DIAGNOSIS(enumerator, id) enumerator,
  CUSHIM_DIAGNOSES(CUSHIM_DIAGNOSIS)
#undef CUSHIM_DIAGNOSIS
} CushimDiagnosisId;

/* The stable id in words, "no-driver". */
CUSHIM_API const char *cushim_diagnosis_name(CushimDiagnosisId id);

/* One library that was tried. */
typedef struct CushimAttempt {
  CushimDiagnosisId outcome; /* CUSHIM_OK for the one that was accepted */
  char place[24];            /* why it was tried: "soname", "CUSHIM_LIBRARY", "WSL", ... */
  char library[256];         /* as given to dlopen, cut to fit */
  char detail[256];          /* dlerror's text or what validation found; empty if "absent" says it all */
} CushimAttempt;

enum { CUSHIM_MAX_ATTEMPTS = 12 };

/* What happened, what was tried, what to do. Plain data, safe to copy; texts too long are cut. */
typedef struct CushimDiagnosis {
  CushimDiagnosisId id;
  CUresult code;      /* the driver's own code if it gave one, else what the table's entries return */
  int driver_version; /* 12040 for 12.4; 0 if no driver was opened */
  int attempt_count;
  char what[320];
  char advice[320];
  CushimAttempt attempts[CUSHIM_MAX_ATTEMPTS]; /* only the first attempt_count mean something */
} CushimDiagnosis;

/* Writes the whole diagnosis as one line, "cushim[no-driver]: what (tried). advice", at most
 * capacity bytes with the final zero. Returns the length that the whole line has. */
CUSHIM_API size_t cushim_diagnosis_text(const CushimDiagnosis *diagnosis, char *text, size_t capacity);

/* ---- Loading ----------------------------------------------------------------------------------*/

/* What cushim_load() opens, and what it requires. */
typedef struct CushimLoadOptions {
  size_t size;         /* sizeof(CushimLoadOptions), for later additions */
  const char *library; /* a path or soname to open instead of the default driver; or null */
  int at_least;        /* refuse a driver below this version (12040 for 12.4); 0 for any */
  bool initialize;     /* also call cuInit(0) and explain its failure */
} CushimLoadOptions;

/* Opens the driver and resolves all its entry points. options may be null.
 *
 * Without options->library this is the process's default driver: what CUSHIM_LIBRARY names (a
 * library, or "none"; ignored in setuid programs and when built with CUSHIM_NO_ENVIRONMENT), else
 * libcuda.so.1 where the dynamic linker would look, else the documented places of WSL, Tegra,
 * containers and NixOS. A library already loaded under that soname is used. Each candidate is opened by
 * its absolute path, after a look at the file, and validated by asking its version; relative folders of
 * the path, the toolkit's link stub and things that are no driver are passed over.
 *
 * Returns the driver, or null with the reason in *diagnosis (which may be null, and is also written
 * on success: what was tried and found). A too old driver is refused, but stays the default driver:
 * raw calls still reach it. The same library gives the same driver each time. Loading never changes
 * the current driver and may be tried again after a failure.
 *
 * Driver calls: cuDriverGetVersion, cuGetProcAddress for each entry (dlsym if the driver has no
 * such call); cuInit and cuDeviceGetCount if asked to initialize. */
CUSHIM_API CushimDriver *cushim_load(const CushimLoadOptions *options, CushimDiagnosis *diagnosis);

/* The process's default driver, opened or not. */
CUSHIM_API CushimDriver *cushim_default_driver(void);

/* Makes a driver from functions in this program: resolve is called once for each entry with its
 * exported symbol and returns the function, or null for what is not served. The driver is never
 * freed. Returns null if memory is out. version is what cushim_driver_version() shall say; the
 * name is copied and shown in reports. */
CUSHIM_API CushimDriver *cushim_driver_from(const char *name, int version,
                                            void (*(*resolve)(void *data, const char *symbol))(void),
                                            void *data);

/* Explains a code that cuInit (or any later call) of this driver returned, looking at the process,
 * its environment and the device nodes. Makes no driver call. */
CUSHIM_API void cushim_explain(CushimDriver *driver, CUresult code, CushimDiagnosis *diagnosis);

/* ---- What a driver is -------------------------------------------------------------------------*/

/* Path of the library that was opened, or the name that an in-process driver was given; empty for
 * the default driver before it is opened and when there is none. */
CUSHIM_API const char *cushim_driver_name(const CushimDriver *driver);

/* 12040 for a driver that serves CUDA 12.4; 0 if not opened. */
CUSHIM_API int cushim_driver_version(const CushimDriver *driver);

/* How the entry points of a driver were found. */
typedef enum CushimLookup {
  CUSHIM_LOOKUP_NONE,        /* not opened */
  CUSHIM_LOOKUP_GET_PROC_V2, /* cuGetProcAddress_v2, drivers of 12.0 and later */
  CUSHIM_LOOKUP_GET_PROC_V1, /* the 4-argument cuGetProcAddress, 11.3 to 11.8 */
  CUSHIM_LOOKUP_DLSYM,       /* older drivers: exported symbols */
  CUSHIM_LOOKUP_IN_PROCESS   /* made by cushim_driver_from */
} CushimLookup;

/* How this driver's entry points were found. */
CUSHIM_API CushimLookup cushim_driver_lookup(const CushimDriver *driver);

/* ---- Entry points -----------------------------------------------------------------------------*/

/* A row of the one list. */
typedef struct CushimEntryInfo {
  const char *symbol; /* "cuMemcpyHtoD_v2_ptds" */
  const char *base;   /* "cuMemcpyHtoD" */
  int version;        /* 7000: the release that this ABI came with */
  const char *thread; /* "", "_ptds" or "_ptsz" */
} CushimEntryInfo;

/* How many entries this library knows, and one of them; slot is its place in tools/generator/slots.txt.
 * Null beyond the last. */
CUSHIM_API int cushim_entry_count(void);
CUSHIM_API const CushimEntryInfo *cushim_entry(int slot);

/* The slot of an exported symbol, or -1. */
CUSHIM_API int cushim_find_symbol(const char *symbol);

/* The slot that cuGetProcAddress(base, version) means: the newest ABI that is not newer than
 * version; if per_thread, of the per-thread variants where the base has any. -1 if there is none.
 * Equal to the answers of driver 580.159 for every base, version and flag. */
CUSHIM_API int cushim_find_version(const char *base, int version, bool per_thread);

/* Whether the driver serves this slot itself, rather than by an error stub. Opens the default
 * driver if it was not yet. */
CUSHIM_API bool cushim_supports(CushimDriver *driver, int slot);

/* Why the driver does not serve this slot, in words ("cuX came with CUDA 13.0; this driver serves
 * 12.4"), or an empty text if it does. Returns the length that the whole text has. */
CUSHIM_API size_t cushim_why_missing(CushimDriver *driver, int slot, char *text, size_t capacity);

/* The driver's own function for a slot, past anything that was put over it; null if missing. */
CUSHIM_API void (*cushim_own_function(CushimDriver *driver, int slot))(void);

/* Puts function over a slot of the effective table, for all threads and at once; null takes it off
 * again. What the slot held itself stays reachable through cushim_own_function(). For layers such
 * as hooks; the function must have the entry's type and live as long as calls may reach it. False if
 * memory is out or there is no such slot. */
CUSHIM_API bool cushim_overlay(CushimDriver *driver, int slot, void (*function)(void));

/* ---- The current driver -----------------------------------------------------------------------*/

/* A scope in which a driver is current, for all threads. Scopes may be left in any order; the
 * newest that is not left decides. The object belongs to the caller and must stay where it is
 * until it is left. */
typedef struct CushimScope {
  CushimDriver *driver;
  struct CushimScope *older;
  struct CushimScope *newer;
} CushimScope;

/* Makes the driver current for all threads until cushim_leave(). */
CUSHIM_API void cushim_enter(CushimScope *scope, CushimDriver *driver);
/* Ends a scope. Scopes may end in any order. */
CUSHIM_API void cushim_leave(CushimScope *scope);

/* ---- Copies -----------------------------------------------------------------------------------*/

/* Every file mapped into this process that carries a copy of cushim, with its version. Static
 * copies have a current driver of their own each. Calls visit for each; returns how many. */
typedef struct CushimCopy {
  const char *path; /* valid during the visit only; the program's own path for the main program */
  int version_major, version_minor, version_patch;
  bool is_this_one;
} CushimCopy;
CUSHIM_API int cushim_copies(void (*visit)(void *data, const CushimCopy *copy), void *data);

#ifdef __cplusplus
}
#endif

#endif
