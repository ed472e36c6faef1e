// SPDX-License-Identifier: Apache-2.0
// The ELF reader on valid 32-bit and 64-bit files and on malformed files.
#include "check/elf_file.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "elf_recipe.hpp"

namespace cushim::command {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Returns a recipe with every kind of contents.
ElfRecipe full_recipe(int bits) {
  return {.bits = bits,
          .is_program = false,
          .soname = "libplugin.so.2",
          .needed = {"libcuda.so.1", "libc.so.6", "libcuda.so.1"},
          .dynamic_symbols = {{"cuInit"}, {"cuDeviceGet", false, true}, {"plugin_start", true}},
          .static_symbols = {{"helper", true}},
          .texts = {"hello", "cuMemAlloc_v2"},
          .cushim = std::array<std::uint32_t, 3>{1, 2, 3},
          .sections = {".nv_fatbin"}};
}

std::vector<std::string> texts_of(const ElfFile &file) {
  std::vector<std::string> texts;
  for_each_string(file, [&texts](std::string_view text) { texts.emplace_back(text); });
  return texts;
}

// Returns each symbol as text: "-name" undefined, "+name" defined, "?name" weak and undefined.
std::vector<std::string> symbols_of(const std::vector<ElfSymbol> &symbols) {
  std::vector<std::string> texts;
  for (const ElfSymbol &symbol : symbols)
    texts.push_back((symbol.is_defined ? "+" : symbol.is_weak ? "?" : "-") + std::string(symbol.name));
  return texts;
}

// Reads everything that ElfFile refers to. Returns a number that depends on every byte, so that no read is
// optimized away.
std::size_t read_all(std::string_view bytes) {
  std::size_t sum = 0;
  const auto add = [&sum](std::string_view text) {
    for (const char letter : text) sum = sum * 31 + static_cast<unsigned char>(letter);
  };
  try {
    const ElfFile file = read_elf(bytes);
    add(file.soname);
    add(file.machine);
    for (const std::string &library : file.needed) add(library);
    for (const ElfSymbol &symbol : file.dynamic_symbols) add(symbol.name);
    for (const ElfSymbol &symbol : file.static_symbols) add(symbol.name);
    for (const std::string_view section : file.sections) add(section);
    for (const ElfNote &note : file.notes) add(note.name), add(note.content);
    for_each_string(file, add);
  } catch (const BrokenElf &broken) {
    add(broken.what());
  }
  return sum;
}

// Reads a copy in a separate heap block, so that the address sanitizer detects a read behind its end.
std::size_t read_all_in_own_block(const std::string &bytes) {
  return read_all(std::string_view(std::vector<char>(bytes.begin(), bytes.end()).data(), bytes.size()));
}

template <class Value>
void put(std::string &bytes, std::size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

class ElfReader : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Classes, ElfReader, testing::Values(32, 64));

TEST_P(ElfReader, Reads_the_properties_of_a_file) {
  const std::string bytes = make_elf(full_recipe(GetParam()));
  const ElfFile file = read_elf(bytes);
  EXPECT_EQ(file.kind, ElfFile::Kind::library);
  EXPECT_EQ(file.bits, GetParam());
  EXPECT_EQ(file.machine, GetParam() == 64 ? "x86-64" : "x86");
  EXPECT_EQ(file.soname, "libplugin.so.2");
  EXPECT_THAT(file.needed, ElementsAre("libcuda.so.1", "libc.so.6"));
  EXPECT_THAT(symbols_of(file.dynamic_symbols), ElementsAre("-cuInit", "?cuDeviceGet", "+plugin_start"));
  EXPECT_THAT(symbols_of(file.static_symbols), ElementsAre("+helper"));
  EXPECT_THAT(texts_of(file), ElementsAre("hello", "cuMemAlloc_v2"));
  EXPECT_THAT(file.sections, testing::Contains(".nv_fatbin"));
  ASSERT_EQ(file.notes.size(), 1u);
  EXPECT_EQ(file.notes[0].name, "cushim");
  EXPECT_EQ(file.notes[0].content.size(), 12u);
}

TEST_P(ElfReader, Needs_no_section_headers_for_what_the_dynamic_linker_reads) {
  ElfRecipe recipe = full_recipe(GetParam());
  recipe.has_section_headers = false;
  const std::string bytes = make_elf(recipe);
  const ElfFile file = read_elf(bytes);
  EXPECT_THAT(file.needed, ElementsAre("libcuda.so.1", "libc.so.6"));
  EXPECT_THAT(symbols_of(file.dynamic_symbols), testing::Contains("-cuInit"));
  EXPECT_THAT(file.static_symbols, IsEmpty());
  EXPECT_THAT(texts_of(file), testing::Contains("cuMemAlloc_v2"));
}

TEST_P(ElfReader, Says_of_every_file_that_is_cut_short_that_it_is_broken) {
  const std::string bytes = make_elf(full_recipe(GetParam()));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(read_elf({part.data(), part.size()}), BrokenElf) << "after " << size << " bytes";
  }
}

TEST_P(ElfReader, Survives_every_flip_of_a_bit) {
  std::string bytes = make_elf(full_recipe(GetParam()));
  const std::size_t sound = read_all(bytes);
  std::size_t noticed = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    noticed += read_all_in_own_block(bytes) != sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_GT(noticed, 0u);
  EXPECT_EQ(read_all(bytes), sound);
}

TEST_P(ElfReader, Survives_extreme_values_everywhere) {
  const std::string sound = make_elf(full_recipe(GetParam()));
  for (const std::uint64_t extreme :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0x7fffffff}, std::uint64_t{0}}) {
    std::size_t noticed = 0;
    for (std::size_t offset = EI_NIDENT; offset + sizeof extreme <= sound.size(); ++offset) {
      std::string bytes = sound;
      put(bytes, offset, extreme);
      noticed += read_all_in_own_block(bytes) != read_all(sound);
    }
    EXPECT_GT(noticed, 0u);
  }
}

TEST(ElfReader, Tells_programs_from_libraries) {
  EXPECT_EQ(read_elf(make_elf({.is_program = true})).kind, ElfFile::Kind::program);
  EXPECT_EQ(read_elf(make_elf({})).kind, ElfFile::Kind::library);
  std::string object = make_elf({});
  put<std::uint16_t>(object, offsetof(Elf64_Ehdr, e_type), ET_REL);
  EXPECT_EQ(read_elf(object).kind, ElfFile::Kind::other);
}

TEST(ElfReader, Recognizes_a_big_endian_file_and_leaves_it_alone) {
  std::string bytes = make_elf(full_recipe(64));
  bytes[EI_DATA] = ELFDATA2MSB;
  const ElfFile file = read_elf(bytes);
  EXPECT_FALSE(file.is_little_endian);
  EXPECT_THAT(file.needed, IsEmpty());
}

TEST(ElfReader, Refuses_what_it_does_not_know) {
  const std::string sound = make_elf({});
  const auto with = [&sound](int index, char value) {
    std::string bytes = sound;
    bytes[static_cast<std::size_t>(index)] = value;
    return [bytes] { read_elf(bytes); };
  };
  EXPECT_THAT(with(0, 'X'), ThrowsMessage<BrokenElf>("is not an ELF file"));
  EXPECT_THAT(with(EI_CLASS, 7), ThrowsMessage<BrokenElf>("is neither 32-bit nor 64-bit"));
  EXPECT_THAT(with(EI_DATA, 7), ThrowsMessage<BrokenElf>("has an unknown byte order"));
  EXPECT_THAT(with(EI_VERSION, 7), ThrowsMessage<BrokenElf>("has an unknown ELF version"));
}

TEST(ElfReader, Believes_no_count_of_sections_that_the_file_has_no_room_for) {
  std::string bytes = make_elf({});
  const auto header = [&bytes] {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
  }();
  // A count of 0 means that section 0 holds the real count.
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shnum), 0);
  put<std::uint64_t>(bytes, header.e_shoff + offsetof(Elf64_Shdr, sh_size), std::uint64_t{1} << 58);
  EXPECT_THAT([&bytes] { read_elf(bytes); }, ThrowsMessage<BrokenElf>("is truncated"));
}

TEST(ElfReader, Reads_a_part_that_many_sections_claim_once) {
  constexpr std::uint16_t count = 60000;
  const std::string text(100000, 'x');
  std::string bytes = make_elf({.texts = {text}, .has_section_headers = false});
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_flags = SHF_ALLOC;
  section.sh_size = bytes.size();
  put<std::uint64_t>(bytes, offsetof(Elf64_Ehdr, e_shoff), bytes.size());
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shentsize), sizeof section);
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shnum), count);
  for (int i = 0; i < count; ++i) bytes.append(reinterpret_cast<const char *>(&section), sizeof section);
  const ElfFile file = read_elf(bytes);
  EXPECT_EQ(file.constants.size(), 1u);
  EXPECT_THAT(texts_of(file), testing::Contains(text).Times(1));
}

TEST(ElfReader, Finds_a_text_right_behind_other_constants) {
  const std::string bytes = make_elf({.texts = {"\x01\xf0\x9dlibcuda.so.1"}});
  const ElfFile file = read_elf(bytes);
  EXPECT_THAT(texts_of(file), ElementsAre("libcuda.so.1"));
}

}  // namespace
}  // namespace cushim::command
