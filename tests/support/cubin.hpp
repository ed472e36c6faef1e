// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace cushim {

// Returns an ELF file of the CUDA machine type with a section for each function, and no code in them.
inline std::string cubin_with(const std::vector<std::string> &functions) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> sections(1);
  for (const std::string &function : functions) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_type = SHT_PROGBITS;
    sections.push_back(section);
    names += ".text." + function + '\0';
  }
  Elf64_Shdr strings{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof(Elf64_Ehdr);
  strings.sh_size = names.size();
  sections.push_back(strings);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;  // CUDA
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  header.e_shoff = sizeof header + names.size();
  std::string file(reinterpret_cast<const char *>(&header), sizeof header);
  file += names;
  file.append(reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  return file;
}

}  // namespace cushim
