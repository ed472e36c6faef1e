// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

namespace cushim::command {

// The structures of ELF files of 32 bits.
struct Elf32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  using Dynamic = Elf32_Dyn;
};

// The structures of ELF files of 64 bits.
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  using Dynamic = Elf64_Dyn;
};

}  // namespace cushim::command
