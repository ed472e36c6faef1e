/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects an ELF file before the dynamic linker opens it. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#else
#define OUR_MACHINE EM_AARCH64
#endif

static const char *machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86 (32-bit)";
    case EM_ARM:
      return "Arm (32-bit)";
    case EM_PPC64:
      return "POWER";
    default:
      return "another architecture";
  }
}

/* The first 4096 bytes of a file: the ELF header and, in every library that a linker wrote, the program
 * headers. */
typedef struct Start {
  union {
    Elf64_Ehdr header;
    char bytes[4096];
  };
  size_t size;
} Start;

/* Returns whether the file contains every byte that the linker will map. */
static bool is_whole(const Start *start, unsigned long long file_size) {
  const Elf64_Ehdr *header = &start->header;
  const unsigned long long end = header->e_phoff + (unsigned long long)header->e_phnum * sizeof(Elf64_Phdr);
  if (header->e_phentsize != sizeof(Elf64_Phdr) || end < header->e_phoff || end > start->size) return false;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, start->bytes + header->e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    if (segment.p_offset > file_size || segment.p_filesz > file_size - segment.p_offset) return false;
  }
  return true;
}

static CushimDiagnosisId inspect(int file, char *detail, size_t capacity) {
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    snprintf(detail, capacity, "is a %s, not a file",
             S_ISDIR(status.st_mode) ? "directory" : "device or pipe");
    return CUSHIM_NOT_A_LIBRARY;
  }
  Start start;
  memset(&start.header, 0, sizeof start.header);
  const ssize_t got = pread(file, start.bytes, sizeof start.bytes, 0);
  start.size = got > 0 ? (size_t)got : 0;
  const Elf64_Ehdr *header = &start.header;
  if (start.size < SELFMAG || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    snprintf(detail, capacity, "is not an ELF file");
    return CUSHIM_NOT_A_LIBRARY;
  }
  if (start.size < sizeof *header) {
    snprintf(detail, capacity, "is truncated");
    return CUSHIM_NOT_A_LIBRARY;
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64) {
    snprintf(detail, capacity, "is a 32-bit library; this program is 64-bit");
    return CUSHIM_WRONG_ARCHITECTURE;
  }
  if (header->e_machine != OUR_MACHINE) {
    snprintf(detail, capacity, "is for %s; this program is for %s", machine_name(header->e_machine),
             machine_name(OUR_MACHINE));
    return CUSHIM_WRONG_ARCHITECTURE;
  }
  if (header->e_type != ET_DYN) {
    snprintf(detail, capacity, "is not a shared library");
    return CUSHIM_NOT_A_LIBRARY;
  }
  if (!is_whole(&start, (unsigned long long)status.st_size)) {
    snprintf(detail, capacity, "is truncated");
    return CUSHIM_NOT_A_LIBRARY;
  }
  return CUSHIM_OK;
}

CushimDiagnosisId cushim_inspect_elf(const char *path, char *detail, size_t capacity) {
  detail[0] = '\0';
  /* O_NONBLOCK: the path may be a pipe. */
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return CUSHIM_NO_DRIVER;
    snprintf(detail, capacity, "cannot be read: %s", strerror(errno));
    return CUSHIM_NOT_LOADABLE;
  }
  const CushimDiagnosisId outcome = inspect(file, detail, capacity);
  close(file);
  return outcome;
}
