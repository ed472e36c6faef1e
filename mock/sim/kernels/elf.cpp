// SPDX-License-Identifier: Apache-2.0
#include "kernels/elf.hpp"

#include <cstdint>
#include <cstring>

#include "kernels/read.hpp"

namespace cushim::sim {

namespace {

std::string_view content_of(std::string_view file, const Elf64_Shdr &section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > file.size()) return {};
  return file.substr(section.sh_offset, section.sh_size);
}

}  // namespace

std::vector<ElfSection> sections_of(std::string_view file) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != kElfByteOrder ||
      header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > file.size())
    return {};
  std::vector<Elf64_Shdr> headers;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(file, header->e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr));
    if (!section) return {};
    headers.push_back(*section);
  }
  if (header->e_shstrndx >= headers.size()) return {};
  const std::string_view names = content_of(file, headers[header->e_shstrndx]);
  std::vector<ElfSection> sections;
  for (const Elf64_Shdr &section : headers) {
    const std::string_view name =
        section.sh_name < names.size() ? names.substr(section.sh_name) : std::string_view();
    sections.push_back({name.substr(0, name.find('\0')), content_of(file, section)});
  }
  return sections;
}

}  // namespace cushim::sim
