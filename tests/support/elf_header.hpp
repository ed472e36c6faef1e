// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstring>

namespace cushim {

// Returns the header of a little-endian ELF file without sections and segments.
template <class Header>
Header elf_header(unsigned char file_class, Elf64_Half type, Elf64_Half machine) {
  Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = file_class;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  return header;
}

}  // namespace cushim
