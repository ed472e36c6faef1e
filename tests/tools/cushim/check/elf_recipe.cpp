// SPDX-License-Identifier: Apache-2.0
#include "elf_recipe.hpp"

#include <cstring>

#include "check/elf_classes.hpp"

namespace cushim::command {
namespace {

// Not 0, so that addresses differ from file offsets.
constexpr std::uint64_t base_address = 0x10000;

struct File32 : Elf32 {
  static constexpr unsigned char file_class = ELFCLASS32;
  static constexpr std::uint16_t machine = EM_386;
};

struct File64 : Elf64 {
  static constexpr unsigned char file_class = ELFCLASS64;
  static constexpr std::uint16_t machine = EM_X86_64;
};

// A string table: strings stored consecutively and found by their offsets.
class TextTable {
 public:
  std::uint32_t add(const std::string &text) {
    const auto offset = static_cast<std::uint32_t>(bytes_.size());
    bytes_ += text + '\0';
    return offset;
  }
  const std::string &bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

template <class Structure>
std::string bytes_of(const Structure &structure) {
  return std::string(reinterpret_cast<const char *>(&structure), sizeof structure);
}

template <class Structure>
std::string bytes_of(const std::vector<Structure> &structures) {
  std::string bytes;
  for (const Structure &structure : structures) bytes += bytes_of(structure);
  return bytes;
}

template <class Elf>
class Writer {
 public:
  explicit Writer(const ElfRecipe &recipe) : recipe_(recipe) {}

  std::string write() {
    const std::size_t segment_count = recipe_.cushim ? 3 : 2;
    file_.resize(sizeof(typename Elf::Header) + segment_count * sizeof(typename Elf::Segment));
    sections_.push_back({});

    write_dynamic();
    write_note();
    std::string constants;
    for (const std::string &text : recipe_.texts) constants += text + '\0';
    add_section(".rodata", SHT_PROGBITS, constants, SHF_ALLOC);
    add_segment(PT_LOAD, 0, file_.size());
    for (const std::string &name : recipe_.sections) add_section(name, SHT_PROGBITS, "", SHF_ALLOC);
    write_static_symbols();
    if (recipe_.has_section_headers) write_section_headers();
    write_header();
    return file_;
  }

 private:
  std::size_t append(const std::string &bytes) {
    file_.resize((file_.size() + 7) / 8 * 8);
    const std::size_t offset = file_.size();
    file_ += bytes;
    return offset;
  }

  std::size_t add_section(const std::string &name, std::uint32_t type, const std::string &bytes,
                          std::uint32_t flags, std::uint32_t link = 0) {
    typename Elf::Section section{};
    section.sh_name = section_names_.add(name);
    section.sh_type = type;
    section.sh_flags = flags;
    section.sh_link = link;
    section.sh_offset = static_cast<decltype(section.sh_offset)>(append(bytes));
    if ((flags & SHF_ALLOC) != 0) section.sh_addr = section.sh_offset + base_address;
    section.sh_size = static_cast<decltype(section.sh_size)>(bytes.size());
    sections_.push_back(section);
    return section.sh_offset;
  }

  void add_segment(std::uint32_t type, std::size_t offset, std::size_t size) {
    typename Elf::Segment segment{};
    segment.p_type = type;
    segment.p_flags = PF_R;
    segment.p_align = 4;
    segment.p_offset = static_cast<decltype(segment.p_offset)>(offset);
    segment.p_vaddr = segment.p_offset + base_address;
    segment.p_filesz = segment.p_memsz = static_cast<decltype(segment.p_filesz)>(size);
    segments_.push_back(segment);
  }

  static std::string symbols(const std::vector<RecipeSymbol> &recipes, TextTable &names) {
    std::vector<typename Elf::Symbol> symbols(1);
    for (const RecipeSymbol &recipe : recipes) {
      typename Elf::Symbol symbol{};
      symbol.st_name = names.add(recipe.name);
      symbol.st_info = ELF64_ST_INFO(recipe.is_weak ? STB_WEAK : STB_GLOBAL, STT_FUNC);
      symbol.st_shndx = recipe.is_defined ? 1 : SHN_UNDEF;
      symbols.push_back(symbol);
    }
    return bytes_of(symbols);
  }

  void write_dynamic() {
    TextTable names;
    std::vector<typename Elf::Dynamic> entries;
    const auto add = [&entries](auto tag, std::uint64_t value) {
      typename Elf::Dynamic entry{};
      entry.d_tag = tag;
      entry.d_un.d_val = static_cast<decltype(entry.d_un.d_val)>(value);
      entries.push_back(entry);
    };
    for (const std::string &library : recipe_.needed) add(DT_NEEDED, names.add(library));
    if (!recipe_.soname.empty()) add(DT_SONAME, names.add(recipe_.soname));
    if (recipe_.is_program) add(DT_FLAGS_1, DF_1_PIE);
    const std::string table = symbols(recipe_.dynamic_symbols, names);
    add(DT_SYMTAB, add_section(".dynsym", SHT_DYNSYM, table, SHF_ALLOC, 2) + base_address);
    add(DT_STRTAB, add_section(".dynstr", SHT_STRTAB, names.bytes(), SHF_ALLOC) + base_address);
    add(DT_STRSZ, names.bytes().size());
    add(DT_NULL, 0);
    const std::string bytes = bytes_of(entries);
    add_segment(PT_DYNAMIC, add_section(".dynamic", SHT_DYNAMIC, bytes, SHF_ALLOC), bytes.size());
  }

  void write_note() {
    if (!recipe_.cushim) return;
    const Elf64_Nhdr note{7, sizeof *recipe_.cushim, 1};
    const std::string bytes = bytes_of(note) + std::string("cushim\0\0", 8) + bytes_of(*recipe_.cushim);
    add_segment(PT_NOTE, add_section(".note.cushim", SHT_NOTE, bytes, SHF_ALLOC), bytes.size());
  }

  void write_static_symbols() {
    if (recipe_.static_symbols.empty()) return;
    TextTable names;
    const std::string table = symbols(recipe_.static_symbols, names);
    add_section(".symtab", SHT_SYMTAB, table, 0, static_cast<std::uint32_t>(sections_.size() + 1));
    add_section(".strtab", SHT_STRTAB, names.bytes(), 0);
  }

  void write_section_headers() {
    const std::uint32_t own_name = section_names_.add(".shstrtab");
    typename Elf::Section names{};
    names.sh_name = own_name;
    names.sh_type = SHT_STRTAB;
    names.sh_size = static_cast<decltype(names.sh_size)>(section_names_.bytes().size());
    names.sh_offset = static_cast<decltype(names.sh_offset)>(append(section_names_.bytes()));
    sections_.push_back(names);
    header_.e_shoff = static_cast<decltype(header_.e_shoff)>(append(bytes_of(sections_)));
    header_.e_shentsize = sizeof(typename Elf::Section);
    header_.e_shnum = static_cast<std::uint16_t>(sections_.size());
    header_.e_shstrndx = static_cast<std::uint16_t>(sections_.size() - 1);
  }

  void write_header() {
    std::memcpy(header_.e_ident, ELFMAG, SELFMAG);
    header_.e_ident[EI_CLASS] = Elf::file_class;
    header_.e_ident[EI_DATA] = ELFDATA2LSB;
    header_.e_ident[EI_VERSION] = EV_CURRENT;
    header_.e_type = ET_DYN;
    header_.e_machine = Elf::machine;
    header_.e_version = EV_CURRENT;
    header_.e_ehsize = sizeof header_;
    header_.e_phoff = sizeof header_;
    header_.e_phentsize = sizeof(typename Elf::Segment);
    header_.e_phnum = static_cast<std::uint16_t>(segments_.size());
    const std::string start = bytes_of(header_) + bytes_of(segments_);
    file_.replace(0, start.size(), start);
  }

  const ElfRecipe &recipe_;
  std::string file_;
  typename Elf::Header header_{};
  std::vector<typename Elf::Segment> segments_;
  std::vector<typename Elf::Section> sections_;
  TextTable section_names_;
};

}  // namespace

std::string make_elf(const ElfRecipe &recipe) {
  return recipe.bits == 64 ? Writer<File64>(recipe).write() : Writer<File32>(recipe).write();
}

}  // namespace cushim::command
