/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a driver: where to look, in which order, and what is accepted. */
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

/* Where vendors document that the driver is put when it is not on the linker's path. */
static const Place documented[] = {
    {"WSL", "/usr/lib/wsl/lib/" SONAME},
#if defined(__aarch64__)
    {"Tegra", "/usr/lib/aarch64-linux-gnu/nvidia/" SONAME},
    {"Tegra", "/usr/lib/aarch64-linux-gnu/tegra/" SONAME},
#endif
    {"container", "/usr/local/nvidia/lib64/" SONAME},
    {"NixOS", "/run/opengl-driver/lib/" SONAME},
};

/* Where the system's own driver lies; needed only to get past what is in its way. */
static const Place system_wide[] = {
#if defined(__x86_64__)
    {"system", "/usr/lib/x86_64-linux-gnu/" SONAME},
#else
    {"system", "/usr/lib/aarch64-linux-gnu/" SONAME},
#endif
    {"system", "/usr/lib64/" SONAME},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Asks an opened library whether it is a driver. cuDriverGetVersion works before cuInit; the
 * toolkit's link stub answers CUDA_ERROR_STUB_LIBRARY to everything. */
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

/* dlerror's "NAME: cannot open shared object file: ..." speaks of the library itself if NAME is it,
 * else of something that it needs. */
static CushimDiagnosisId classify_dlerror(const char *library, const char *error) {
  const size_t length = strlen(library);
  const bool of_itself = strncmp(error, library, length) == 0 && error[length] == ':';
  return of_itself && strstr(error, "No such file") != NULL ? CUSHIM_NO_DRIVER : CUSHIM_NOT_LOADABLE;
}

/* Tries one library; true if it is a driver. */
static bool try_library(const char *place, const char *library, CushimFound *found,
                        CushimDiagnosis *diagnosis) {
  char detail[256] = "";
  CushimDiagnosisId outcome = CUSHIM_OK;
  if (strchr(library, '/') != NULL) outcome = cushim_inspect_elf(library, detail, sizeof detail);
  void *handle = NULL;
  if (outcome == CUSHIM_OK) {
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
      const char *error = dlerror();
      snprintf(detail, sizeof detail, "%s", error != NULL ? error : "dlopen failed without a reason");
      outcome = classify_dlerror(library, detail);
    }
  }
  if (handle != NULL) outcome = validate(handle, &found->version, detail, sizeof detail);
  if (handle != NULL && outcome != CUSHIM_OK) dlclose(handle);
  cushim_note_attempt(diagnosis, outcome, place, library, detail);
  if (handle == NULL || outcome != CUSHIM_OK) return false;

  found->handle = handle;
  struct link_map *map = NULL;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
  cushim_copy_text(found->path, sizeof found->path, known ? map->l_name : library);
  return true;
}

static bool try_places(const Place *places, size_t count, CushimFound *found, CushimDiagnosis *diagnosis) {
  for (size_t i = 0; i < count; ++i)
    if (try_library(places[i].name, places[i].library, found, diagnosis)) return true;
  return false;
}

/* The next libcuda.so.1 that LD_LIBRARY_PATH could mean; false at its end. */
static bool next_on_path(const char **rest, char *library, size_t capacity) {
  while (*rest != NULL && **rest != '\0') {
    const char *folder = *rest;
    const size_t length = strcspn(folder, ":;");
    *rest = folder + length + (folder[length] != '\0');
    if (length == 0 || length + sizeof "/" SONAME > capacity) continue;
    snprintf(library, capacity, "%.*s/" SONAME, (int)length, folder);
    return true;
  }
  return false;
}

/* Whether the linker must not be let loose on LD_LIBRARY_PATH: it stops at the first libcuda.so.1 there
 * that is no ELF file, hangs on a pipe, and faults on a file that is cut short. */
static bool is_path_broken(void) {
  const char *rest = secure_getenv("LD_LIBRARY_PATH");
  char library[256];
  char detail[256];
  while (next_on_path(&rest, library, sizeof library)) {
    const CushimDiagnosisId outcome = cushim_inspect_elf(library, detail, sizeof detail);
    if (outcome == CUSHIM_OK) return false;
    if (outcome == CUSHIM_NOT_A_LIBRARY) return true;
  }
  return false;
}

static int is_driver_object(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size;
  (void)unused;
  const char *slash = strrchr(object->dlpi_name, '/');
  const char *name = slash != NULL ? slash + 1 : object->dlpi_name;
  return strncmp(name, "libcuda.so.", strlen("libcuda.so.")) == 0;
}

/* What the linker would do, but past what it would stop at, and past what is no driver: each folder of
 * LD_LIBRARY_PATH, then where the system's own driver lies. */
static bool search_one_by_one(CushimFound *found, CushimDiagnosis *diagnosis) {
  const char *rest = secure_getenv("LD_LIBRARY_PATH");
  char library[256];
  while (next_on_path(&rest, library, sizeof library))
    if (access(library, F_OK) == 0 && try_library("LD_LIBRARY_PATH", library, found, diagnosis)) return true;
  return try_places(system_wide, COUNT(system_wide), found, diagnosis);
}

static bool search(CushimFound *found, CushimDiagnosis *diagnosis) {
  /* A library that is loaded already is found by its soname, without a look at the path. */
  bool refused = is_path_broken() && !dl_iterate_phdr(is_driver_object, NULL);
  if (!refused) {
    if (try_library("soname", SONAME, found, diagnosis)) return true;
    refused = diagnosis->attempts[0].outcome != CUSHIM_NO_DRIVER;
  }
  if (refused && search_one_by_one(found, diagnosis)) return true;
  return try_places(documented, COUNT(documented), found, diagnosis);
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
  const char *place = "given";
  if (library == NULL) {
    library = environment();
    place = "CUSHIM_LIBRARY";
  }
  bool accepted;
  if (library == NULL) {
    accepted = search(found, diagnosis);
  } else if (strcmp(library, "none") == 0) {
    cushim_note_attempt(diagnosis, CUSHIM_DRIVER_DISABLED, place, library, "");
    accepted = false;
  } else if (library[0] != '/' && strchr(library, '/') != NULL) {
    /* What it names would depend on the directory that the program is started in. */
    cushim_note_attempt(diagnosis, CUSHIM_RELATIVE_PATH, place, library, "relative to the current directory");
    accepted = false;
  } else {
    accepted = try_library(place, library, found, diagnosis);
  }
  if (!accepted) cushim_conclude_search(diagnosis);
  return accepted;
}
