/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a driver: where to search, in which order, and which library to accept. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define SONAME "libcuda.so.1"

typedef struct Place {
  const char *name;
  const char *library;
} Place;

/* Vendor-documented locations of the driver outside the linker's search path. */
static const Place documented[] = {
    {"WSL", "/usr/lib/wsl/lib/" SONAME},
#if defined(__aarch64__)
    {"Tegra", "/usr/lib/aarch64-linux-gnu/nvidia/" SONAME},
    {"Tegra", "/usr/lib/aarch64-linux-gnu/tegra/" SONAME},
#endif
    {"container", "/usr/local/nvidia/lib64/" SONAME},
    {"NixOS", "/run/opengl-driver/lib/" SONAME},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Checks whether an opened library is a driver. cuDriverGetVersion works before cuInit; the toolkit's link
 * stub returns CUDA_ERROR_STUB_LIBRARY (34) from every function. */
CUSHIM_CALLS_DRIVER
static CushimDiagnosisId validate(void *handle, int *version, char *detail, size_t capacity) {
  typedef CUresult(CUDAAPI * GetVersion)(int *);
  const GetVersion get_version = (GetVersion)cushim_as_function(dlsym(handle, "cuDriverGetVersion"));
  if (get_version == NULL) {
    snprintf(detail, capacity, "exports no cuDriverGetVersion");
    return CUSHIM_NOT_A_DRIVER;
  }
  *version = 0;
  const CUresult result = get_version(version);
  if (result == CUDA_ERROR_STUB_LIBRARY) {
    snprintf(detail, capacity, "is the CUDA toolkit's link stub");
    return CUSHIM_STUB_LIBRARY;
  }
  if (result != CUDA_SUCCESS || *version <= 0) {
    snprintf(detail, capacity, "cuDriverGetVersion returned %s and version %d", cushim_result_name(result),
             *version);
    return CUSHIM_NOT_A_DRIVER;
  }
  return CUSHIM_OK;
}

/* Opens a library that is already loaded or that cushim_inspect_elf accepted. */
static void *open_library(const char *library, char *detail, size_t capacity) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle != NULL) return handle;
  const char *error = dlerror();
  if (error == NULL) error = "dlopen failed without a message";
  /* If the message is too long, drops the path before the reason. */
  const size_t length = strlen(library);
  const bool is_prefixed = strncmp(error, library, length) == 0 && strncmp(error + length, ": ", 2) == 0;
  if (is_prefixed && strlen(error) >= capacity) error += length + 2;
  cushim_copy_text(detail, capacity, error);
  return NULL;
}

/* Returns the library's full path, allocated, or null if out of memory. */
static char *path_of(void *handle, const char *library) {
  struct link_map *map = NULL;
  const bool is_known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
  return strdup(is_known ? map->l_name : library);
}

/* Opens and validates a library, and records the attempt. Returns whether it is a driver. The library must
 * be loaded already or accepted by cushim_inspect_elf. */
static bool accept(const char *source, const char *library, CushimFound *found, CushimDiagnosis *diagnosis) {
  char detail[256] = "";
  CushimDiagnosisId outcome = CUSHIM_NOT_LOADABLE;
  void *handle = open_library(library, detail, sizeof detail);
  if (handle != NULL) outcome = validate(handle, &found->version, detail, sizeof detail);
  if (outcome == CUSHIM_OK) {
    found->handle = handle;
    found->path = path_of(handle, library);
    if (found->path == NULL) {
      outcome = CUSHIM_NOT_LOADABLE;
      cushim_copy_text(detail, sizeof detail, "out of memory for its path");
    }
  }
  if (handle != NULL && outcome != CUSHIM_OK) dlclose(handle);
  cushim_add_attempt(diagnosis, outcome, source, library, detail);
  return outcome == CUSHIM_OK;
}

/* Tries the file at an absolute path. Returns whether it is a driver. */
static bool try_file(const char *source, const char *path, bool reports_absence, CushimFound *found,
                     CushimDiagnosis *diagnosis) {
  char detail[256];
  const CushimDiagnosisId outcome = cushim_inspect_elf(path, detail, sizeof detail);
  if (outcome == CUSHIM_OK) return accept(source, path, found, diagnosis);
  if (outcome != CUSHIM_NO_DRIVER || reports_absence)
    cushim_add_attempt(diagnosis, outcome, source, path, detail);
  return false;
}

/* Arguments of try_candidate(). */
typedef struct ByName {
  const char *source;
  CushimFound *found;
  CushimDiagnosis *diagnosis;
} ByName;

static bool try_candidate(void *data, const char *path) {
  const ByName *search = data;
  if (path[0] == '/') return try_file(search->source, path, false, search->found, search->diagnosis);
  /* A relative path would name another file in another current directory. */
  if (access(path, F_OK) == 0)
    cushim_add_attempt(search->diagnosis, CUSHIM_RELATIVE_PATH, search->source, path,
                       "relative to the current directory");
  return false;
}

/* Tries the files that the dynamic linker would find under a name, and skips those that are not drivers.
 * Passes the name to the linker itself only if the object is already loaded. */
static bool try_name(const char *source, const char *name, CushimFound *found, CushimDiagnosis *diagnosis) {
  ByName search = {source, found, diagnosis};
  const int before = diagnosis->attempt_count;
  if (cushim_is_loaded(name) && accept(source, name, found, diagnosis)) return true;
  if (cushim_each_candidate(name, try_candidate, &search)) return true;
  if (diagnosis->attempt_count == before) cushim_add_attempt(diagnosis, CUSHIM_NO_DRIVER, source, name, "");
  return false;
}

static bool search(CushimFound *found, CushimDiagnosis *diagnosis) {
  if (try_name("soname", SONAME, found, diagnosis)) return true;
  for (size_t i = 0; i < COUNT(documented); ++i)
    if (try_file(documented[i].name, documented[i].library, true, found, diagnosis)) return true;
  return false;
}

static const char *environment(void) {
#if defined(CUSHIM_NO_ENVIRONMENT)
  return NULL;
#else
  const char *library = secure_getenv("CUSHIM_LIBRARY");
  return library != NULL && library[0] != '\0' ? library : NULL;
#endif
}

bool cushim_find(const char *library, CushimFound *found, CushimDiagnosis *diagnosis) {
  const char *source = "given";
  if (library == NULL) {
    library = environment();
    source = "CUSHIM_LIBRARY";
  }
  bool accepted;
  if (library == NULL) {
    accepted = search(found, diagnosis);
  } else if (strcmp(library, "none") == 0) {
    cushim_add_attempt(diagnosis, CUSHIM_DRIVER_DISABLED, source, library, "");
    accepted = false;
  } else if (library[0] == '/') {
    accepted = try_file(source, library, true, found, diagnosis);
  } else if (strchr(library, '/') != NULL) {
    /* A relative path would name another file in another current directory. */
    cushim_add_attempt(diagnosis, CUSHIM_RELATIVE_PATH, source, library, "relative to the current directory");
    accepted = false;
  } else {
    accepted = try_name(source, library, found, diagnosis);
  }
  if (!accepted) cushim_conclude_search(diagnosis);
  return accepted;
}
