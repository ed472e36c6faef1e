// SPDX-License-Identifier: Apache-2.0
// Generates small 32-bit and 64-bit ELF files with the layout that linkers use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cushim::command {

struct RecipeSymbol {
  std::string name;
  bool is_defined = false;
  bool is_weak = false;
};

struct ElfRecipe {
  int bits = 64;
  bool is_program = false;
  std::string soname = {};
  std::vector<std::string> needed = {};
  std::vector<RecipeSymbol> dynamic_symbols = {};
  std::vector<RecipeSymbol> static_symbols = {};
  std::vector<std::string> texts = {};
  std::optional<std::array<std::uint32_t, 3>> cushim = {};  // the version in cushim's note
  std::vector<std::string> sections = {};                   // names of empty sections
  bool has_section_headers = true;
};

std::string make_elf(const ElfRecipe &recipe);

}  // namespace cushim::command
