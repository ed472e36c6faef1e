// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/elf_header.hpp"

namespace cushim {

constexpr Elf64_Half kCudaMachine = 190;

// Returns an ELF file with these sections, by name and content.
inline std::string elf_with(Elf64_Half machine,
                            const std::vector<std::pair<std::string, std::string>> &contents) {
  std::string names(1, '\0'), data;
  std::vector<Elf64_Shdr> sections(1);
  for (const auto &[name, content] : contents) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_type = SHT_PROGBITS;
    section.sh_flags = SHF_ALLOC;
    section.sh_addralign = 8;
    section.sh_offset = sizeof(Elf64_Ehdr) + data.size();
    section.sh_size = content.size();
    sections.push_back(section);
    names += name + '\0';
    data += content;
    data.resize((data.size() + 7) / 8 * 8);
  }
  Elf64_Shdr strings{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof(Elf64_Ehdr) + data.size();
  strings.sh_size = names.size();
  sections.push_back(strings);

  auto header = elf_header<Elf64_Ehdr>(ELFCLASS64, ET_REL, machine);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  header.e_shoff = sizeof header + data.size() + names.size();
  std::string file(reinterpret_cast<const char *>(&header), sizeof header);
  file += data + names;
  file.append(reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  return file;
}

// Returns a cubin with a section for each function, and no code in them.
inline std::string cubin_with(const std::vector<std::string> &functions) {
  std::vector<std::pair<std::string, std::string>> sections;
  for (const std::string &function : functions) sections.emplace_back(".text." + function, "");
  return elf_with(kCudaMachine, sections);
}

// Returns a fat binary with one entry: PTX for sm_52, not compressed.
inline std::string fat_binary_with(const std::string &ptx) {
  struct Header {
    std::uint32_t magic = 0xBA55ED50;
    std::uint16_t version = 1, header_size = 16;
    std::uint64_t size;
    std::uint16_t kind = 1, entry_version = 0x101;
    std::uint32_t entry_header_size = 72;
    std::uint64_t content_size;
    std::uint32_t compressed_size = 0, options_at = 64;  // from the beginning of the entry
    std::uint16_t minor = 0, major = 0;
    std::uint32_t target = 52, name = 0, name_size = 0;
    std::uint64_t flags = 0x11, reserved = 0, uncompressed_size = 0;
    std::uint32_t text_of_options = 0, size_of_options = 0;  // cuLinkAddData of a real driver reads them
  } header{.size = 72 + ptx.size() + 1, .content_size = ptx.size() + 1};
  static_assert(sizeof header == 88);
  return std::string(reinterpret_cast<const char *>(&header), sizeof header) + ptx + '\0';
}

// Returns an archive (ar) of these members, by name and content. Names of 16 and more characters are long
// names.
inline std::string archive_of(const std::vector<std::pair<std::string, std::string>> &members) {
  const auto padded = [](std::string text, std::size_t size) {
    text.resize(size, ' ');
    return text;
  };
  const auto member = [&](const std::string &name, const std::string &content) {
    return padded(name, 16) + padded("0", 12) + padded("0", 6) + padded("0", 6) + padded("644", 8) +
           padded(std::to_string(content.size()), 10) + "`\n" + content +
           (content.size() % 2 != 0 ? "\n" : "");
  };
  std::string long_names, text;
  for (const auto &[name, content] : members) {
    const bool is_long = name.size() >= 16;
    text += member(is_long ? "/" + std::to_string(long_names.size()) : name + "/", content);
    if (is_long) long_names += name + "/\n";
  }
  return "!<arch>\n" + (long_names.empty() ? "" : member("//", long_names)) + text;
}

}  // namespace cushim
