// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <algorithm>

namespace cushim {

// Returns the header of a little-endian ELF file without sections and segments.
template <class Header>
Header elf_header(unsigned char file_class, Elf64_Half type, Elf64_Half machine) {
  const unsigned char identification[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,   ELFMAG3,
                                          file_class, ELFDATA2LSB, EV_CURRENT};
  Header header{};
  std::ranges::copy(identification, header.e_ident);
  header.e_type = type;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  return header;
}

}  // namespace cushim
