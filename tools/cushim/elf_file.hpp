// SPDX-License-Identifier: Apache-2.0
// Reading an ELF file that may be hostile: cut short, overlapping, with counts that are lies.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::command {

// Why a file cannot be read to its end, in words that go behind the file's name: "is cut short".
struct BrokenElf : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ElfSymbol {
  std::string_view name;
  bool is_defined = false;
  bool is_weak = false;
};

struct ElfNote {
  std::string_view name;  // without the final zero
  std::uint32_t type = 0;
  std::string_view content;
};

// What a file says about itself. Views point into the bytes that it was read from.
struct ElfFile {
  enum class Kind { program, library, other };  // other: objects, core files

  Kind kind = Kind::other;
  int bits = 64;
  std::string machine;  // "x86-64"
  // Only then the rest is filled: no machine that CUDA was ever made for is big-endian.
  bool is_little_endian = true;

  std::string soname;
  std::string interpreter;                  // of a program that is dynamically linked
  std::string rpath;                        // searched before LD_LIBRARY_PATH, if there is no runpath
  std::string runpath;                      // searched after it
  std::vector<std::string> needed;          // each once
  std::vector<ElfSymbol> dynamic_symbols;   // what the dynamic linker sees
  std::vector<ElfSymbol> static_symbols;    // of .symtab; none in a stripped file
  std::vector<std::string_view> sections;   // their names
  std::vector<ElfNote> notes;               // of the segments
  std::vector<std::string_view> constants;  // parts of the file where a program's texts may lie
};

// Whether these bytes begin an ELF file.
bool is_elf(std::string_view bytes);

// Throws BrokenElf. Never reads beyond the bytes; the time it takes is near linear in their number.
ElfFile read_elf(std::string_view bytes);

// Calls visit(text) for each text: printable characters before a zero byte. Other constants may lie right
// before them.
template <class Visit>
void for_each_text(const ElfFile &file, Visit visit) {
  const auto is_printable = [](char letter) { return letter >= ' ' && letter <= '~'; };
  for (const std::string_view part : file.constants) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (is_printable(part[i])) continue;
      if (part[i] == '\0' && i != start) visit(part.substr(start, i - start));
      start = i + 1;
    }
  }
}

}  // namespace cushim::command
