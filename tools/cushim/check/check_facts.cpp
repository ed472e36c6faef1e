// SPDX-License-Identifier: Apache-2.0
#include "check/check_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace cushim::command {
namespace {

constexpr std::string_view driver_library = "libcuda.so";
constexpr std::string_view cushim_library = "libcushim.so";
constexpr std::string_view runtime_library = "libcudart.so";

// Types of cushim's ELF notes, written by shim/lazy.S and shim/dropin/entries.S.
constexpr std::uint32_t note_of_copy = 1;
constexpr std::uint32_t note_of_drop_in = 2;

// The runtime library converts each of its about 130 error codes to a name, so a copy of it contains these
// strings, stripped or not. Programs that mention some codes themselves contain far fewer.
constexpr std::size_t most_error_names_without_runtime = 60;

// Returns whether this is a library's name, with or without a version suffix.
bool is_library(std::string_view name, std::string_view library) {
  return name.starts_with(library) && (name.size() == library.size() || name[library.size()] == '.');
}

// Returns whether a name has the form of an entry point: cuMemAlloc, but not cublasCreate.
bool is_entry_like(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
}

// Entry points by symbol and by base name, the name passed to cuGetProcAddress. A base name that is not a
// symbol means the oldest ABI.
const std::unordered_map<std::string_view, const CushimEntryInfo *> &entries_by_name() {
  static const auto *const entries = [] {
    auto *const made = new std::unordered_map<std::string_view, const CushimEntryInfo *>;
    for (int slot = 0; slot < cushim_entry_count(); ++slot) {
      const CushimEntryInfo *entry = cushim_entry(slot);
      const CushimEntryInfo *&oldest = (*made)[entry->base];
      if (oldest == nullptr || entry->version < oldest->version) oldest = entry;
    }
    for (int slot = 0; slot < cushim_entry_count(); ++slot)
      (*made)[cushim_entry(slot)->symbol] = cushim_entry(slot);
    return made;
  }();
  return *entries;
}

const CushimEntryInfo *entry_named(std::string_view name) {
  const auto found = entries_by_name().find(name);
  return found == entries_by_name().end() ? nullptr : found->second;
}

const CushimEntryInfo *newest(const EntryList &entries) {
  const auto found = std::max_element(entries.begin(), entries.end(),
                                      [](const auto *a, const auto *b) { return a->version < b->version; });
  return found == entries.end() ? nullptr : *found;
}

// Sorts by symbol and removes duplicates.
void sort_unique(EntryList &entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto *a, const auto *b) { return std::strcmp(a->symbol, b->symbol) < 0; });
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
}

void inspect_dynamic_symbols(const ElfFile &file, FileFacts &facts) {
  std::set<std::string> unknown;
  for (const ElfSymbol &symbol : file.dynamic_symbols) {
    const CushimEntryInfo *entry = entry_named(symbol.name);
    if (entry != nullptr && symbol.name != entry->symbol) entry = nullptr;
    if (entry != nullptr && symbol.is_defined) ++facts.exports;
    if (entry != nullptr && !symbol.is_defined)
      (symbol.is_weak ? facts.weak_imports : facts.imports).push_back(entry);
    // Other libraries export such names too (cuFileRead), so only a file that links the driver counts.
    if (entry == nullptr && facts.links_driver && !symbol.is_defined && is_entry_like(symbol.name))
      unknown.emplace(symbol.name);
  }
  sort_unique(facts.imports);
  sort_unique(facts.weak_imports);
  facts.unknown.assign(unknown.begin(), unknown.end());
}

// Returns 2034 for "GLIBC_2.34", and 0 for versions of other libraries.
int glibc_version(std::string_view name) {
  if (name == "GLIBC_ABI_DT_RELR") return 2036;  // a linker feature introduced in 2.36
  constexpr std::string_view prefix = "GLIBC_2.";
  if (!name.starts_with(prefix)) return 0;
  name.remove_prefix(prefix.size());
  int minor = 0;
  std::from_chars(name.data(), name.data() + name.size(), minor);  // "GLIBC_2.2.5" counts as 2.2
  return minor < 1000 ? 2000 + minor : 0;
}

void inspect_glibc(const ElfFile &file, FileFacts &facts) {
  for (const ElfVersion &version : file.needed_versions) {
    const int number = glibc_version(version.name);
    if (number <= facts.glibc) continue;
    facts.glibc = number;
    facts.glibc_symbol = version.symbol.empty() ? version.name : version.symbol;
  }
}

void inspect_cushim(const ElfFile &file, FileFacts &facts) {
  for (const ElfNote &note : file.notes) {
    std::uint32_t version[3];
    if (note.name != "cushim" || note.content.size() != sizeof version) continue;
    if (note.type == note_of_drop_in) facts.has_drop_in = true;
    if (note.type != note_of_copy) continue;
    std::memcpy(version, note.content.data(), sizeof version);
    facts.cushim = fmt::format("{}.{}.{}", version[0], version[1], version[2]);
  }
  for (const std::string &library : file.needed)
    if (is_library(library, cushim_library)) facts.linked_cushim = library;
}

// Collects the entry points named in the file's strings. Returns the number of runtime error names among
// them.
std::size_t inspect_strings(const ElfFile &file, FileFacts &facts) {
  std::unordered_set<std::string_view> error_names;
  for_each_string(file, [&](std::string_view text) {
    if (!text.starts_with("cu")) {
      if (is_library(text, driver_library)) facts.names_library = true;
      return;
    }
    if (text.starts_with("cudaError") && text.find(' ') == std::string_view::npos) error_names.insert(text);
    if (const CushimEntryInfo *entry = entry_named(text)) facts.names.push_back(entry);
  });
  if (!facts.cushim.empty() || facts.exports != 0) facts.names.clear();
  sort_unique(facts.names);
  return error_names.size();
}

bool defines_runtime(const std::vector<ElfSymbol> &symbols) {
  return std::any_of(symbols.begin(), symbols.end(), [](const ElfSymbol &symbol) {
    return symbol.is_defined && (symbol.name == "cudaGetDeviceCount" || symbol.name == "cudaGetErrorName");
  });
}

void inspect_runtime(const ElfFile &file, std::size_t error_names, FileFacts &facts) {
  RuntimeFacts &runtime = facts.runtime;
  for (const std::string &library : file.needed)
    if (is_library(library, runtime_library)) runtime.shared = library;
  for (const std::string_view section : file.sections)
    if (section == ".nv_fatbin" || section == ".nvFatBinSegment") runtime.has_device_code = true;
  runtime.is_itself = is_library(file.soname, runtime_library);
  if (runtime.is_itself) return;
  const bool is_defined = defines_runtime(file.static_symbols) || defines_runtime(file.dynamic_symbols);
  runtime.is_hint = !is_defined && facts.names_library && error_names > most_error_names_without_runtime;
  runtime.is_static = is_defined || runtime.is_hint;
}

}  // namespace

const CushimEntryInfo *FileFacts::floor() const { return newest(imports); }

const CushimEntryInfo *FileFacts::would_use() const { return newest(names); }

bool FileFacts::uses_cuda() const {
  return links_driver || !imports.empty() || !weak_imports.empty() || exports != 0 || names_library ||
         !names.empty() || runtime.is_carried() || runtime.is_itself || runtime.has_device_code ||
         !cushim.empty() || !linked_cushim.empty();
}

FileFacts inspect(const std::string &name, std::string_view bytes) {
  const ElfFile file = read_elf(bytes);
  FileFacts facts;
  facts.name = name;
  facts.kind = file.kind;
  facts.bits = file.bits;
  facts.machine = file.machine;
  if (file.kind == ElfFile::Kind::other) return facts;
  facts.links_driver = std::any_of(file.needed.begin(), file.needed.end(),
                                   [](const std::string &each) { return is_library(each, driver_library); });
  inspect_dynamic_symbols(file, facts);
  inspect_glibc(file, facts);
  inspect_cushim(file, facts);
  const std::size_t error_names = inspect_strings(file, facts);
  inspect_runtime(file, error_names, facts);
  return facts;
}

}  // namespace cushim::command
