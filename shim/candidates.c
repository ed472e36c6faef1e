/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates the files that the dynamic linker would consider for a library name. Used instead of
 * dlopen(name), which blocks forever on a pipe, faults on a truncated file, and searches the current
 * directory when LD_LIBRARY_PATH has an empty element. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

const char *cushim_linker_cache = "/etc/ld.so.cache";

typedef struct Search {
  const char *name;
  bool (*visit)(void *data, const char *path);
  void *data;
} Search;

/* ---- Directories -------------------------------------------------------------------------------*/

#if defined(__x86_64__)
/* Returns the glibc-hwcaps level below `above`, or the processor's highest level for null. Returns null if
 * there is none. */
static const char *level_below(const char *above) {
  static const char *const levels[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 =
      v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool has[] = {v4, v3, v2};
  size_t i = 0;
  if (above != NULL)
    while (strcmp(levels[i++], above) != 0) continue;
  for (; i < sizeof levels / sizeof *levels; ++i)
    if (has[i]) return levels[i];
  return NULL;
}
#else
static const char *level_below(const char *above) { /* glibc defines no levels for this architecture */
  (void)above;
  return NULL;
}
#endif

static bool visit_file(const Search *search, const char *folder, const char *subfolder) {
  char *path = NULL;
  if (asprintf(&path, "%s%s/%s", folder, subfolder, search->name) < 0) return false;
  const bool is_enough = search->visit(search->data, path);
  free(path);
  return is_enough;
}

static bool has_levels(const char *folder) {
  char *path = NULL;
  if (asprintf(&path, "%s/glibc-hwcaps", folder) < 0) return false;
  const bool is_there = access(path, F_OK) == 0;
  free(path);
  return is_there;
}

static bool visit_folder(const Search *search, const char *folder) {
  if (level_below(NULL) != NULL && has_levels(folder))
    for (const char *level = level_below(NULL); level != NULL; level = level_below(level)) {
      char subfolder[64];
      snprintf(subfolder, sizeof subfolder, "/glibc-hwcaps/%s", level);
      if (visit_file(search, folder, subfolder)) return true;
    }
  return visit_file(search, folder, "");
}

/* ---- The linker's search path --------------------------------------------------------------------*/

/* Returns the directories that the linker searches for the object that contains this code: RPATH,
 * LD_LIBRARY_PATH at process start, RUNPATH, system directories. Returns null if they are unknown. The
 * caller frees the result. */
static Dl_serinfo *search_path(void) {
  Dl_info info;
  void *object = NULL; /* link map of that object; in glibc this is its handle */
  const CushimFunction here = (CushimFunction)search_path;
  void *address;
  memcpy(&address, &here, sizeof address);
  if (dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0 || object == NULL) return NULL;
  Dl_serinfo size;
  if (dlinfo(object, RTLD_DI_SERINFOSIZE, &size) != 0) return NULL;
  Dl_serinfo *path = calloc(1, size.dls_size);
  if (path == NULL) return NULL;
  if (dlinfo(object, RTLD_DI_SERINFOSIZE, path) == 0 && dlinfo(object, RTLD_DI_SERINFO, path) == 0)
    return path;
  free(path);
  return NULL;
}

static bool is_system_folder(const char *folder) {
  static const char *const folders[] = {
    "/lib",
    "/usr/lib",
    "/lib64",
    "/usr/lib64",
#if defined(__x86_64__)
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
#else
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
#endif
  };
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i)
    if (strcmp(folder, folders[i]) == 0) return true;
  return false;
}

static bool is_among(const Dl_serinfo *path, unsigned first, unsigned last, const char *folder) {
  for (unsigned i = first; i < last; ++i)
    if (strcmp(path->dls_serpath[i].dls_name, folder) == 0) return true;
  return false;
}

/* Returns the number of directories that the linker searches before its cache. Dl_serinfo does not mark
 * this position; the linker searches the system directories after the cache, each once. */
static unsigned count_before_cache(const Dl_serinfo *path) {
  unsigned count = path->dls_cnt;
  while (count > 0) {
    const char *folder = path->dls_serpath[count - 1].dls_name;
    if (!is_system_folder(folder) || is_among(path, count, path->dls_cnt, folder)) break;
    --count;
  }
  return count;
}

static bool visit_folders(const Search *search, const Dl_serinfo *path, unsigned first, unsigned last) {
  for (unsigned i = first; i < last; ++i)
    if (visit_folder(search, path->dls_serpath[i].dls_name)) return true;
  return false;
}

/* ---- The linker's cache --------------------------------------------------------------------------
 * The file that ldconfig writes, in the format of glibc 2.2 and later. By default ldconfig before 2.32 puts a
 * table in an older format before it. tests/shim/search_test.cpp compares the result with the real ldconfig.
 */

typedef struct CacheHeader {
  char magic[20]; /* "glibc-ld.so.cache" "1.1" */
  uint32_t count;
  uint32_t size_of_texts;
  uint32_t unused[5];
} CacheHeader;

typedef struct CacheEntry {
  uint32_t flags;
  uint32_t name; /* name and path are offsets from the header */
  uint32_t path;
  uint32_t unused;
  uint64_t hardware;
} CacheEntry;

_Static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24, "as in the file");

#if defined(__x86_64__)
enum { OUR_FLAGS = 0x0303 }; /* glibc library, 64-bit x86-64 */
#else
enum { OUR_FLAGS = 0x0a03 };
#endif

typedef struct Bytes {
  char *data; /* ends with a null byte that size excludes */
  size_t size;
} Bytes;

/* Reads the file instead of mapping it: if a mapped file shrinks, access faults. */
static Bytes read_file(const char *path) {
  Bytes bytes = {NULL, 0};
  FILE *file = fopen(path, "rbe");
  if (file == NULL) return bytes;
  struct stat status;
  if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) && status.st_size < 1 << 28)
    bytes.data = malloc((size_t)status.st_size + 1);
  if (bytes.data != NULL) {
    bytes.size = fread(bytes.data, 1, (size_t)status.st_size, file);
    bytes.data[bytes.size] = '\0';
  }
  fclose(file);
  return bytes;
}

/* Skips a table in the old format, if the file begins with one. */
static Bytes skip_old_format(Bytes bytes) {
  static const char old_magic[] = "ld.so-1.7.0";
  uint32_t count;
  if (bytes.size < sizeof old_magic + sizeof count ||
      memcmp(bytes.data, old_magic, sizeof old_magic - 1) != 0)
    return bytes;
  memcpy(&count, bytes.data + sizeof old_magic, sizeof count);
  const uint64_t end = (sizeof old_magic + sizeof count + 12 * (uint64_t)count + 7) / 8 * 8;
  if (end > bytes.size) return (Bytes){NULL, 0};
  return (Bytes){bytes.data + end, bytes.size - end};
}

/* Visits the cached libraries of this name in the directory of the level; for null, those without a level. */
static bool visit_cached(const Search *search, Bytes cache, const char *level) {
  CacheHeader header;
  if (cache.size < sizeof header) return false;
  memcpy(&header, cache.data, sizeof header);
  if (memcmp(header.magic, "glibc-ld.so.cache1.1", sizeof header.magic) != 0) return false;
  if (header.count > (cache.size - sizeof header) / sizeof(CacheEntry)) return false;
  for (uint32_t i = 0; i < header.count; ++i) {
    CacheEntry entry;
    memcpy(&entry, cache.data + sizeof header + i * sizeof entry, sizeof entry);
    if (entry.flags != OUR_FLAGS || entry.name >= cache.size || entry.path >= cache.size) continue;
    if (strcmp(cache.data + entry.name, search->name) != 0) continue;
    const char *path = cache.data + entry.path;
    if (level == NULL ? entry.hardware != 0 : strstr(path, level) == NULL) continue;
    if (search->visit(search->data, path)) return true;
  }
  return false;
}

static bool visit_cache(const Search *search) {
  const Bytes file = read_file(cushim_linker_cache);
  if (file.data == NULL) return false;
  const Bytes cache = skip_old_format(file);
  bool is_enough = false;
  for (const char *level = level_below(NULL); level != NULL && !is_enough; level = level_below(level)) {
    char folder[64];
    snprintf(folder, sizeof folder, "/glibc-hwcaps/%s/", level);
    is_enough = visit_cached(search, cache, folder);
  }
  is_enough = is_enough || visit_cached(search, cache, NULL);
  free(file.data);
  return is_enough;
}

bool cushim_each_candidate(const char *name, bool (*visit)(void *data, const char *path), void *data) {
  const Search search = {name, visit, data};
  Dl_serinfo *path = search_path();
  if (path == NULL) return visit_cache(&search);
  const unsigned before = count_before_cache(path);
  const bool is_enough = visit_folders(&search, path, 0, before) || visit_cache(&search) ||
                         visit_folders(&search, path, before, path->dls_cnt);
  free(path);
  return is_enough;
}

/* ---- Loaded objects ------------------------------------------------------------------------------*/

/* Returns whether the linker knows this object under the name: by its soname, or by the name it was opened
 * with. */
static int is_named(struct dl_phdr_info *object, size_t size, void *name) {
  (void)size;
  if (object->dlpi_name == NULL || object->dlpi_name[0] == '\0') return 0;
  if (strcmp(object->dlpi_name, name) == 0) return 1;
  const ElfW(Dyn) *entry = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  ElfW(Addr) texts = 0;
  ElfW(Xword) soname = 0;
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) soname = entry->d_un.d_val;
  }
  if (texts == 0 || soname == 0) return 0;
  if (texts < object->dlpi_addr) texts += object->dlpi_addr; /* the kernel's vDSO is not relocated */
  return strcmp((const char *)(texts + soname), name) == 0;
}

bool cushim_is_loaded(const char *name) {
  union {
    const char *text;
    void *data;
  } argument = {name};
  return dl_iterate_phdr(is_named, argument.data) != 0;
}
