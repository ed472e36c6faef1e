// SPDX-License-Identifier: Apache-2.0
// What an ELF file has to do with the NVIDIA driver.
#pragma once

#include <cushim/load.h>

#include <string>
#include <string_view>
#include <vector>

#include "elf_file.hpp"

namespace cushim::command {

using EntryList = std::vector<const CushimEntryInfo *>;

// NVIDIA's CUDA runtime library, as a file has to do with it.
struct RuntimeFacts {
  std::string shared;            // the library that the file links: "libcudart.so.13"
  bool is_static = false;        // the file holds a copy
  bool is_hint = false;          // of a copy: seen by its texts only, as the file is stripped
  bool is_itself = false;        // the file is the runtime library
  bool has_device_code = false;  // made by the CUDA compiler, for the runtime to register

  bool is_carried() const { return !shared.empty() || is_static; }
};

struct FileFacts {
  std::string name;
  ElfFile::Kind kind = ElfFile::Kind::other;
  int bits = 64;
  std::string machine;

  bool links_driver = false;         // needs libcuda.so.1 to be started or loaded at all
  EntryList imports;                 // entry points that must be there
  EntryList weak_imports;            // entry points that may be missing
  std::vector<std::string> unknown;  // imports that look like entry points and are not in the list
  int exports = 0;                   // entry points that the file defines itself, for others

  // Hints: texts that are names. Of what is named without an ABI, the oldest. None where the file carries
  // cushim or defines entry points: such files name entry points that nobody uses.
  bool names_library = false;
  EntryList names;

  RuntimeFacts runtime;
  std::string cushim;         // version of the copy that the file carries: "1.0.0"
  std::string linked_cushim;  // cushim as a shared library: "libcushim.so.1"
  bool has_drop_in = false;   // the file's calls of the driver's functions by name go through cushim

  // The import that sets which driver is needed, or null; and the same of the names.
  const CushimEntryInfo *floor() const;
  const CushimEntryInfo *would_use() const;

  // Whether there is anything to say about the file.
  bool is_concerned() const;
};

// Throws BrokenElf.
FileFacts look_at(const std::string &name, std::string_view bytes);

}  // namespace cushim::command
