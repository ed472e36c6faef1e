/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a driver: where to look, in which order, and what is accepted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Where the system's own driver lies; needed only to get past a broken file on LD_LIBRARY_PATH. */
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
  snprintf(found->path, sizeof found->path, "%s", known ? map->l_name : library);
  return true;
}

static bool try_places(const Place *places, size_t count, CushimFound *found, CushimDiagnosis *diagnosis) {
  for (size_t i = 0; i < count; ++i)
    if (try_library(places[i].name, places[i].library, found, diagnosis)) return true;
  return false;
}

/* The dynamic linker stops at the first libcuda.so.1 on LD_LIBRARY_PATH that is no ELF file, and
 * faults on one that is cut short. So look there first: notes the broken files before the first
 * sound one, whose path goes to sound, and says whether there were any. */
static bool note_broken_files(char *sound, size_t capacity, CushimDiagnosis *diagnosis) {
  const char *path = secure_getenv("LD_LIBRARY_PATH");
  bool broken = false;
  sound[0] = '\0';
  while (path != NULL && *path != '\0' && sound[0] == '\0') {
    const size_t length = strcspn(path, ":;");
    char library[256];
    char detail[256];
    if (length > 0 && length + sizeof "/" SONAME <= sizeof library) {
      snprintf(library, sizeof library, "%.*s/" SONAME, (int)length, path);
      const CushimDiagnosisId outcome = cushim_inspect_elf(library, detail, sizeof detail);
      if (outcome == CUSHIM_OK) snprintf(sound, capacity, "%s", library);
      /* The linker itself goes on past a file of another architecture. */
      if (outcome == CUSHIM_NOT_A_LIBRARY) {
        cushim_note_attempt(diagnosis, outcome, "LD_LIBRARY_PATH", library, detail);
        broken = true;
      }
    }
    path += length;
    if (*path != '\0') ++path;
  }
  return broken;
}

/* What the dynamic linker would have found, had the broken files not been in its way. */
static bool search_around_broken_files(const char *sound, CushimFound *found, CushimDiagnosis *diagnosis) {
  void *loaded = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (loaded != NULL) {
    const bool accepted = try_library("already loaded", SONAME, found, diagnosis);
    dlclose(loaded);
    if (accepted) return true;
  }
  if (sound[0] != '\0' && try_library("LD_LIBRARY_PATH", sound, found, diagnosis)) return true;
  return try_places(system_wide, COUNT(system_wide), found, diagnosis);
}

static bool search(CushimFound *found, CushimDiagnosis *diagnosis) {
  char sound[256];
  const bool accepted = note_broken_files(sound, sizeof sound, diagnosis)
                            ? search_around_broken_files(sound, found, diagnosis)
                            /* Also finds what is loaded already under this soname. */
                            : try_library("soname", SONAME, found, diagnosis);
  return accepted || try_places(documented, COUNT(documented), found, diagnosis);
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
  memset(found, 0, sizeof *found);
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
