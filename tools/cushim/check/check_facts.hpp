// SPDX-License-Identifier: Apache-2.0
// The relation of an ELF file to the NVIDIA driver.
#pragma once

#include <cushim/load.h>

#include <string>
#include <string_view>
#include <vector>

#include "check/elf_file.hpp"

namespace cushim::command {

using EntryList = std::vector<const CushimEntryInfo *>;

// A file's relation to NVIDIA's CUDA runtime library.
struct RuntimeFacts {
  std::string shared;            // the runtime library that the file links: "libcudart.so.13"
  bool is_static = false;        // the file contains a copy
  bool is_hint = false;          // the copy was detected by its strings only, because the file is stripped
  bool is_itself = false;        // the file is the runtime library
  bool has_device_code = false;  // compiled by the CUDA compiler; the runtime registers the code

  bool is_carried() const { return !shared.empty() || is_static; }
};

struct FileFacts {
  std::string name;
  ElfFile::Kind kind = ElfFile::Kind::other;
  int bits = 64;
  std::string machine;

  bool links_driver = false;         // the file cannot be started or loaded without libcuda.so.1
  EntryList imports;                 // required entry points
  EntryList weak_imports;            // entry points that may be missing
  std::vector<std::string> unknown;  // imports that look like entry points but are not in the list
  int exports = 0;                   // number of entry points that the file itself exports

  // Hints: entry points named in the file's strings. A name without an ABI suffix means the oldest ABI. Empty
  // if the file contains cushim or defines entry points: such files name entry points that they do not call.
  bool names_library = false;
  EntryList names;

  int glibc = 0;             // oldest glibc that satisfies the file: 2034 is 2.34; 0 if it needs none
  std::string glibc_symbol;  // a symbol of that version

  RuntimeFacts runtime;
  std::string cushim;         // version of the copy in the file: "1.0.0"
  std::string linked_cushim;  // cushim as a shared library: "libcushim.so.1"
  bool has_drop_in = false;   // the file's calls of driver functions by name go through cushim

  // Return the newest entry point among `imports` and among `names`, or null. It determines the oldest driver
  // that the file needs or would use.
  const CushimEntryInfo *floor() const;
  const CushimEntryInfo *would_use() const;

  // Returns whether there is anything to report about the file.
  bool uses_cuda() const;
};

// Throws BrokenElf.
FileFacts inspect(const std::string &name, std::string_view bytes);

}  // namespace cushim::command
