// SPDX-License-Identifier: Apache-2.0
#include "check/elf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_set>
#include <utility>

#include "check/elf_classes.hpp"

namespace cushim::command {
namespace {

static_assert(std::endian::native == std::endian::little, "structures are copied as they lie in the file");

// Longer names are read as empty. All names that they are compared with are short, and a file with many
// symbols that share one very long name would take quadratic time.
constexpr std::size_t longest_name = 512;

// A valid file needs some dozens of versions. Limits the time, like longest_name.
constexpr std::size_t most_versions = 4096;

// A valid file has only a few note segments. Limits the time, like longest_name.
constexpr int most_note_segments = 64;

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86";
    case EM_ARM:
      return "Arm";
    case EM_PPC64:
      return "POWER";
    default:
      return fmt::format("machine {}", machine);
  }
}

// ---- Bytes ----------------------------------------------------------------------------------------

std::string_view slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) throw BrokenElf("is truncated");
  return bytes.substr(offset, size);
}

template <class Structure>
Structure get(std::string_view bytes, std::uint64_t offset) {
  Structure structure;
  std::memcpy(&structure, slice(bytes, offset, sizeof structure).data(), sizeof structure);
  return structure;
}

template <class Structure>
std::vector<Structure> get_table(std::string_view bytes, std::uint64_t offset, std::uint64_t count) {
  if (count > bytes.size() / sizeof(Structure)) throw BrokenElf("is truncated");
  const std::string_view table = slice(bytes, offset, count * sizeof(Structure));
  std::vector<Structure> structures(count);
  if (count != 0) std::memcpy(structures.data(), table.data(), table.size());
  return structures;
}

// Returns the name at an offset of a string table; empty if it is too long or outside the table.
std::string_view name_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset, longest_name);
  const std::size_t length = rest.find('\0');
  return length == std::string_view::npos ? std::string_view() : rest.substr(0, length);
}

// Merges overlapping ranges, so that no byte is inspected twice.
std::vector<std::string_view> united(std::vector<std::string_view> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](std::string_view a, std::string_view b) {
    return std::pair(a.data(), a.size()) < std::pair(b.data(), b.size());
  });
  std::vector<std::string_view> whole;
  for (const std::string_view range : ranges) {
    if (range.empty()) continue;
    if (!whole.empty() && range.data() < whole.back().data() + whole.back().size()) {
      const char *end = std::max(whole.back().data() + whole.back().size(), range.data() + range.size());
      whole.back() = {whole.back().data(), static_cast<std::size_t>(end - whole.back().data())};
    } else {
      whole.push_back(range);
    }
  }
  return whole;
}

// ---- The file -------------------------------------------------------------------------------------

template <class Elf>
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), header_(get<typename Elf::Header>(bytes, 0)) {}

  void read(ElfFile &file) {
    read_tables();
    read_dynamic(file);
    read_sections(file);
    read_notes(file);
    read_constants(file);
    file.kind = kind(file);
  }

 private:
  void read_tables() {
    // If a count does not fit into the header, section 0 holds it.
    std::uint64_t section_count = header_.e_shnum;
    std::uint64_t segment_count = header_.e_phnum;
    std::uint64_t names = header_.e_shstrndx;
    if (header_.e_shoff != 0) {
      if (header_.e_shentsize != sizeof(typename Elf::Section))
        throw BrokenElf("has section headers of an unknown size");
      const auto first = get<typename Elf::Section>(bytes_, header_.e_shoff);
      if (section_count == 0) section_count = first.sh_size;
      if (segment_count == PN_XNUM) segment_count = first.sh_info;
      if (names == SHN_XINDEX) names = first.sh_link;
      sections_ = get_table<typename Elf::Section>(bytes_, header_.e_shoff, section_count);
      if (names < sections_.size() && sections_[names].sh_type == SHT_STRTAB)
        section_names_ = content(sections_[names]);
    }
    if (header_.e_phoff != 0 && segment_count != 0) {
      if (header_.e_phentsize != sizeof(typename Elf::Segment))
        throw BrokenElf("has program headers of an unknown size");
      segments_ = get_table<typename Elf::Segment>(bytes_, header_.e_phoff, segment_count);
    }
    for (const auto &segment : segments_)
      if (segment.p_type == PT_LOAD) slice(bytes_, segment.p_offset, segment.p_filesz);
  }

  std::string_view content(const typename Elf::Section &section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    return slice(bytes_, section.sh_offset, section.sh_size);
  }

  // Returns the file's bytes from an address of the loaded program to the end of its segment.
  std::string_view at_address(std::uint64_t address) const {
    for (const auto &segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const std::uint64_t into = address - segment.p_vaddr;
      if (into < segment.p_filesz) return slice(bytes_, segment.p_offset, segment.p_filesz).substr(into);
    }
    throw BrokenElf("has an offset outside its segments");
  }

  // ---- Data for the dynamic linker ----

  void read_dynamic(ElfFile &file) {
    const auto segment = std::find_if(segments_.begin(), segments_.end(),
                                      [](const auto &each) { return each.p_type == PT_DYNAMIC; });
    // Files with split-off debug information keep the segment header but not the contents.
    if (segment == segments_.end() || segment->p_filesz == 0 || is_debug_information()) return;
    const auto entries = get_table<typename Elf::Dynamic>(bytes_, segment->p_offset,
                                                          segment->p_filesz / sizeof(typename Elf::Dynamic));

    for (const auto &each : segments_)
      if (each.p_type == PT_INTERP) file.interpreter = slice(bytes_, each.p_offset, each.p_filesz);
    while (file.interpreter.ends_with('\0')) file.interpreter.pop_back();

    std::uint64_t names_address = 0, names_size = 0, symbols_address = 0, versions_address = 0,
                  indices_address = 0;
    std::vector<std::uint64_t> needed;
    std::optional<std::uint64_t> soname, rpath, runpath;
    for (const auto &entry : entries) {
      const std::uint64_t value = entry.d_un.d_val;
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) names_address = value;
      if (entry.d_tag == DT_STRSZ) names_size = value;
      if (entry.d_tag == DT_SYMTAB) symbols_address = value;
      if (entry.d_tag == DT_VERNEED) versions_address = value;
      if (entry.d_tag == DT_VERSYM) indices_address = value;
      if (entry.d_tag == DT_NEEDED) needed.push_back(value);
      if (entry.d_tag == DT_SONAME) soname = value;
      if (entry.d_tag == DT_RPATH) rpath = value;
      if (entry.d_tag == DT_RUNPATH) runpath = value;
      if (entry.d_tag == DT_FLAGS_1 && (value & DF_1_PIE) != 0) is_pie_ = true;
    }
    if (names_address == 0) {
      if (!needed.empty()) throw BrokenElf("has no string table");
      return;
    }
    const std::string_view names = slice(at_address(names_address), 0, names_size);
    if (soname) file.soname = name_at(names, *soname);
    if (rpath) file.rpath = name_at(names, *rpath);
    if (runpath) file.runpath = name_at(names, *runpath);
    std::unordered_set<std::string_view> seen;
    for (const std::uint64_t offset : needed)
      if (const std::string_view name = name_at(names, offset); seen.insert(name).second)
        file.needed.emplace_back(name);
    if (symbols_address != 0) read_dynamic_symbols(symbols_address, names_address, names, file);
    if (versions_address == 0) return;
    auto versions = read_versions(at_address(versions_address), names);
    const std::size_t count = symbols_address != 0 ? symbol_table_.size() / sizeof(typename Elf::Symbol) : 0;
    for (std::size_t i = 0; indices_address != 0 && i < count; ++i)
      name_version(i, at_address(indices_address), names, versions);
    for (const auto &[index, version] : versions) file.needed_versions.push_back(version);
  }

  // ---- Versions ----

  using Versions = std::map<std::uint16_t, ElfVersion>;  // by the index used in the symbols' version table

  // Returns the versions that the dynamic linker requires. Their structures are the same in 32-bit and 64-bit
  // files.
  static Versions read_versions(std::string_view table, std::string_view names) {
    Versions versions;
    std::uint64_t at = 0;
    for (std::size_t steps = 0; steps < most_versions;) {
      const auto library = get<Elf64_Verneed>(table, at);
      std::uint64_t within = at + library.vn_aux;
      for (unsigned i = 0; i < library.vn_cnt && steps < most_versions; ++i, ++steps) {
        const auto version = get<Elf64_Vernaux>(table, within);
        if ((version.vna_flags & VER_FLG_WEAK) == 0)
          versions.emplace(version.vna_other, ElfVersion{name_at(names, version.vna_name), {}});
        if (version.vna_next == 0) break;
        within += version.vna_next;
      }
      if (library.vn_next == 0) break;
      at += library.vn_next;
      ++steps;
    }
    return versions;
  }

  // Records the symbol as the example of its version, unless the version already has one.
  void name_version(std::size_t number, std::string_view indices, std::string_view names,
                    Versions &versions) const {
    const auto index = get<std::uint16_t>(indices, number * sizeof(std::uint16_t));
    const auto found = versions.find(index & 0x7fff);
    if (found == versions.end() || !found->second.symbol.empty()) return;
    const auto symbol = get<typename Elf::Symbol>(symbol_table_, number * sizeof(typename Elf::Symbol));
    found->second.symbol = name_at(names, symbol.st_name);
  }

  // The dynamic section does not contain the number of symbols. Takes it from the section header; without
  // one, assumes that the name table follows the symbols, as linkers write it.
  void read_dynamic_symbols(std::uint64_t address, std::uint64_t names_address, std::string_view names,
                            ElfFile &file) {
    std::uint64_t size = names_address > address ? names_address - address : 0;
    for (const auto &section : sections_)
      if (section.sh_type == SHT_DYNSYM && section.sh_addr == address) size = section.sh_size;
    symbol_table_ = slice(at_address(address), 0, size);
    file.dynamic_symbols = symbols(symbol_table_, names);
  }

  static std::vector<ElfSymbol> symbols(std::string_view table, std::string_view names) {
    std::vector<ElfSymbol> symbols;
    for (const auto &symbol :
         get_table<typename Elf::Symbol>(table, 0, table.size() / sizeof(typename Elf::Symbol))) {
      const std::string_view name = name_at(names, symbol.st_name);
      if (!name.empty())
        symbols.push_back({name, symbol.st_shndx != SHN_UNDEF, ELF64_ST_BIND(symbol.st_info) == STB_WEAK});
    }
    return symbols;
  }

  // ---- Data for other tools ----

  void read_sections(ElfFile &file) const {
    for (const auto &section : sections_) {
      if (const std::string_view name = name_at(section_names_, section.sh_name); !name.empty())
        file.sections.push_back(name);
    }
    const auto table = std::find_if(sections_.begin(), sections_.end(),
                                    [](const auto &section) { return section.sh_type == SHT_SYMTAB; });
    if (table == sections_.end()) return;
    if (table->sh_link >= sections_.size()) throw BrokenElf("has a symbol table without a string table");
    file.static_symbols = symbols(content(*table), content(sections_[table->sh_link]));
  }

  void read_notes(ElfFile &file) const {
    int count = 0;
    for (const auto &segment : segments_) {
      // Segments aligned to 8 hold notes in another layout.
      if (segment.p_type != PT_NOTE || segment.p_align > 4 || is_debug_information()) continue;
      if (++count > most_note_segments) return;
      read_notes(slice(bytes_, segment.p_offset, segment.p_filesz), file);
    }
  }

  static void read_notes(std::string_view bytes, ElfFile &file) {
    const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    while (bytes.size() >= sizeof(Elf64_Nhdr)) {  // the same in 32-bit and 64-bit files
      const auto note = get<Elf64_Nhdr>(bytes, 0);
      const std::uint64_t content = sizeof note + padded(note.n_namesz);
      const std::uint64_t end = content + padded(note.n_descsz);
      if (end > bytes.size()) return;
      const std::string_view name = bytes.substr(sizeof note, note.n_namesz);
      file.notes.push_back(
          {name.substr(0, name.find('\0')), note.n_type, bytes.substr(content, note.n_descsz)});
      bytes.remove_prefix(end);
    }
  }

  // Collects data sections if the file has section headers, otherwise all loaded segments. Excludes device
  // code, most of the contents of many files.
  void read_constants(ElfFile &file) const {
    std::vector<std::string_view> ranges;
    for (const auto &section : sections_) {
      const bool is_data = section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_ALLOC) != 0 &&
                           (section.sh_flags & SHF_EXECINSTR) == 0;
      if (is_data && name_at(section_names_, section.sh_name) != ".nv_fatbin")
        ranges.push_back(content(section));
    }
    if (sections_.empty())
      for (const auto &segment : segments_)
        if (segment.p_type == PT_LOAD) ranges.push_back(slice(bytes_, segment.p_offset, segment.p_filesz));
    file.constants = united(std::move(ranges));
  }

  // Split-off debug information has the headers of its program, but no loaded contents.
  bool is_debug_information() const {
    return std::any_of(sections_.begin(), sections_.end(), [](const auto &section) {
      return section.sh_type == SHT_NOBITS && (section.sh_flags & SHF_EXECINSTR) != 0;
    });
  }

  ElfFile::Kind kind(const ElfFile &file) const {
    if (is_debug_information()) return ElfFile::Kind::other;
    if (header_.e_type == ET_EXEC) return ElfFile::Kind::program;
    if (header_.e_type != ET_DYN) return ElfFile::Kind::other;
    const bool names_interpreter = std::any_of(segments_.begin(), segments_.end(),
                                               [](const auto &each) { return each.p_type == PT_INTERP; });
    return is_pie_ || (names_interpreter && file.soname.empty()) ? ElfFile::Kind::program
                                                                 : ElfFile::Kind::library;
  }

  std::string_view bytes_;
  typename Elf::Header header_;
  std::vector<typename Elf::Segment> segments_;
  std::vector<typename Elf::Section> sections_;
  std::string_view section_names_;
  std::string_view symbol_table_;  // of the dynamic linker
  bool is_pie_ = false;
};

}  // namespace

bool is_elf(std::string_view bytes) { return bytes.starts_with(std::string_view(ELFMAG, SELFMAG)); }

ElfFile read_elf(std::string_view bytes) {
  if (!is_elf(bytes)) throw BrokenElf("is not an ELF file");
  if (bytes.size() < EI_NIDENT) throw BrokenElf("is truncated");
  const auto ident = [bytes](int index) { return static_cast<unsigned char>(bytes[index]); };
  if (ident(EI_VERSION) != EV_CURRENT) throw BrokenElf("has an unknown ELF version");
  if (ident(EI_DATA) != ELFDATA2LSB && ident(EI_DATA) != ELFDATA2MSB)
    throw BrokenElf("has an unknown byte order");

  ElfFile file;
  file.is_little_endian = ident(EI_DATA) == ELFDATA2LSB;
  if (ident(EI_CLASS) != ELFCLASS32 && ident(EI_CLASS) != ELFCLASS64)
    throw BrokenElf("is neither 32-bit nor 64-bit");
  file.bits = ident(EI_CLASS) == ELFCLASS64 ? 64 : 32;
  if (!file.is_little_endian) {
    file.machine = "big-endian";
    return file;
  }
  // At the same offset in 32-bit and 64-bit files.
  file.machine = machine_name(get<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine)));
  if (file.bits == 64)
    Reader<Elf64>(bytes).read(file);
  else
    Reader<Elf32>(bytes).read(file);
  return file;
}

}  // namespace cushim::command
