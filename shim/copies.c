/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the copies of cushim in this process by the note that lazy.S puts into each. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

typedef struct Search {
  void (*visit)(void *data, const CushimCopy *copy);
  void *data;
  int count;
  char program[256];
} Search;

static size_t padded(size_t size) { return (size + 3) & ~(size_t)3; }

/* Returns the version in cushim's note of this note segment, or null. */
static const uint32_t *find_note(const char *notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof note);
    const size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > size) return NULL;
    const char *name = notes + sizeof note;
    if (note.n_type == 1 && note.n_namesz == sizeof "cushim" && note.n_descsz == 3 * sizeof(uint32_t) &&
        memcmp(name, "cushim", sizeof "cushim") == 0)
      return (const uint32_t *)(const void *)(name + padded(note.n_namesz));
    notes += whole;
    size -= whole;
  }
  return NULL;
}

static int look(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  Search *search = data;
  const uint32_t *version = NULL;
  bool ours = false;
  static const char in_this_copy = 0;
  const uintptr_t here = (uintptr_t)&in_this_copy;
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && here >= start && here < start + segment->p_memsz) ours = true;
    /* Segments aligned to 8 hold notes in another layout. */
    if (segment->p_type == PT_NOTE && segment->p_align <= 4 && version == NULL)
      version = find_note((const char *)start, segment->p_memsz);
  }
  if (version == NULL) return 0;
  ++search->count;
  const CushimCopy copy = {object->dlpi_name[0] != '\0' ? object->dlpi_name : search->program,
                           (int)version[0], (int)version[1], (int)version[2], ours};
  if (search->visit != NULL) search->visit(search->data, &copy);
  return 0;
}

int cushim_copies(void (*visit)(void *data, const CushimCopy *copy), void *data) {
  Search search = {visit, data, 0, ""};
  const ssize_t length = readlink("/proc/self/exe", search.program, sizeof search.program - 1);
  if (length > 0) search.program[length] = '\0';
  dl_iterate_phdr(look, &search);
  return search.count;
}
