// SPDX-License-Identifier: Apache-2.0
// The sections of 64-bit ELF files.
#pragma once

#include <elf.h>

#include <bit>
#include <string_view>
#include <vector>

namespace cushim::sim {

// EI_DATA of this machine.
inline constexpr unsigned char kElfByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

struct ElfSection {
  std::string_view name, content;  // empty content for a section that occupies no space in the file
};

// Returns the sections that lie within `file`; none if it is not an ELF file of 64 bits in this machine's
// byte order. Safe for arbitrary data.
std::vector<ElfSection> sections_of(std::string_view file);

}  // namespace cushim::sim
