// SPDX-License-Identifier: Apache-2.0
// An ELF reader for untrusted files: truncated, overlapping, or with wrong counts.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::command {

// A file that cannot be read completely. The message continues a sentence that begins with its name: "is cut
// short".
struct BrokenElf : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ElfSymbol {
  std::string_view name;
  bool is_defined = false;
  bool is_weak = false;
};

// A symbol version of another library that the file was linked with, "GLIBC_2.34".
struct ElfVersion {
  std::string_view name;
  std::string_view symbol;  // a symbol of this version; empty if unknown
};

struct ElfNote {
  std::string_view name;  // without the terminating null byte
  std::uint32_t type = 0;
  std::string_view content;
};

// The contents of an ELF file. Views point into the bytes that it was read from.
struct ElfFile {
  enum class Kind { program, library, other };  // other: object files, core files

  Kind kind = Kind::other;
  int bits = 64;
  std::string machine;  // "x86-64"
  // If false, the fields below are empty: CUDA never supported a big-endian machine.
  bool is_little_endian = true;

  std::string soname;
  std::string interpreter;                  // of a dynamically linked program
  std::string rpath;                        // searched before LD_LIBRARY_PATH, unless there is a runpath
  std::string runpath;                      // searched after LD_LIBRARY_PATH
  std::vector<std::string> needed;          // without duplicates
  std::vector<ElfSymbol> dynamic_symbols;   // those that the dynamic linker uses
  std::vector<ElfVersion> needed_versions;  // required for loading
  std::vector<ElfSymbol> static_symbols;    // of .symtab; empty in a stripped file
  std::vector<std::string_view> sections;   // names
  std::vector<ElfNote> notes;               // of the note segments
  std::vector<std::string_view> constants;  // parts of the file that may contain strings
};

// Returns whether these bytes begin an ELF file.
bool is_elf(std::string_view bytes);

// Throws BrokenElf. Never reads beyond the bytes; takes nearly linear time.
ElfFile read_elf(std::string_view bytes);

// Calls visit(text) for each string: printable characters before a null byte. Other constants may directly
// precede them.
template <class Visit>
void for_each_string(const ElfFile &file, Visit visit) {
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
