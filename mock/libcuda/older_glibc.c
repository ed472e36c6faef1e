/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of newer glibc releases that the static libstdc++ and libgcc of the builder's compiler need. The
 * hidden definitions here keep the library loadable with a glibc older than 2.35. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Since glibc 2.36; std::random_device refers to it. */
HIDDEN uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) continue;
  return number;
}

#if __GLIBC_PREREQ(2, 35)
/* Since glibc 2.35; the unwinder calls it to find the file that contains an address. */
HIDDEN int _dl_find_object(void *address, struct dl_find_object *found);

typedef int (*FindObject)(void *address, struct dl_find_object *found);
static FindObject find_object; /* glibc's own, which takes no lock; null if absent */

__attribute__((constructor(101))) static void look_for_find_object(void) {
  void *const function = dlsym(RTLD_DEFAULT, "_dl_find_object");
  __builtin_memcpy(&find_object, &function, sizeof find_object);
}

typedef struct Search {
  ElfW(Addr) address;
  struct dl_find_object *found;
} Search;

static int visit(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  const Search *search = data;
  ElfW(Addr) begin = UINTPTR_MAX, end = 0, frames = 0;
  int holds_address = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const ElfW(Addr) from = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = from;
    if (part->p_type != PT_LOAD) continue;
    if (from < begin) begin = from;
    if (from + part->p_memsz > end) end = from + part->p_memsz;
    if (search->address >= from && search->address - from < part->p_memsz) holds_address = 1;
  }
  if (!holds_address || frames == 0) return 0;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void *)begin;
  search->found->dlfo_map_end = (void *)end;
  search->found->dlfo_link_map = NULL; /* the unwinder does not read it */
  search->found->dlfo_eh_frame = (void *)frames;
  return 1;
}

int _dl_find_object(void *address, struct dl_find_object *found) {
  if (find_object != NULL) return find_object(address, found);
  Search search = {(ElfW(Addr))address, found};
  return dl_iterate_phdr(visit, &search) != 0 ? 0 : -1;
}
#endif
