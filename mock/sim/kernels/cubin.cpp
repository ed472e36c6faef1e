// SPDX-License-Identifier: Apache-2.0
#include "kernels/cubin.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "kernels/elf.hpp"

namespace cushim::sim {

namespace {

// A larger end is not believed.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 32;

template <class T>
T at(std::string_view bytes, std::uint64_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Returns the end of `count` entries of a table in the file; kLargest + 1 if that is not plausible.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t size) {
  return offset > kLargest || size > kLargest ? kLargest + 1 : offset + size;
}

// Calls `visit` with each section's header. The section table must lie within `bytes`.
template <class Visit>
void for_each_section(std::string_view bytes, const Elf64_Ehdr &header, Visit visit) {
  for (unsigned i = 0; i < header.e_shnum; ++i)
    visit(at<Elf64_Shdr>(bytes, header.e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr)));
}

}  // namespace

bool is_cubin(const void *data, std::optional<std::size_t> size) {
  const auto *const bytes = static_cast<const unsigned char *>(data);
  if (size && *size < offsetof(Elf64_Ehdr, e_version)) return false;
  // One comparison after the other: data without a size may end at the first difference.
  for (unsigned i = 0; i < SELFMAG; ++i)
    if (bytes[i] != static_cast<unsigned char>(ELFMAG[i])) return false;
  std::uint16_t machine = 0;
  std::memcpy(&machine, bytes + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
  return machine == kCudaMachine;
}

std::optional<std::string_view> cubin_at(const void *data, std::optional<std::size_t> size) {
  if (!is_cubin(data, size) || (size && *size < sizeof(Elf64_Ehdr))) return std::nullopt;
  const std::size_t limit = std::min<std::uint64_t>(size.value_or(kLargest), kLargest);
  const std::string_view bytes(static_cast<const char *>(data), limit);
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ehsize != sizeof(Elf64_Ehdr) ||
      (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)))
    return std::nullopt;
  const std::uint64_t sections = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  std::uint64_t end = std::max(end_of(header.e_shoff, sections),
                               end_of(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize));
  if (end > limit) return std::nullopt;
  for_each_section(bytes, header, [&](const Elf64_Shdr &section) {
    if (section.sh_type != SHT_NOBITS) end = std::max(end, end_of(section.sh_offset, section.sh_size));
  });
  if (end > limit) return std::nullopt;
  return bytes.substr(0, std::max<std::uint64_t>(end, sizeof header));
}

std::vector<std::string> functions_of(std::string_view cubin) {
  constexpr std::string_view kText = ".text.";
  std::vector<std::string> names;
  for (const ElfSection &section : sections_of(cubin))
    if (section.name.starts_with(kText)) names.emplace_back(section.name.substr(kText.size()));
  return names;
}

std::string content_key(std::string_view bytes) {
  __extension__ using Hash = unsigned __int128;
  constexpr Hash kPrime = (Hash{1} << 88) + 0x13b;
  Hash hash = (Hash{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  char text[64];
  std::snprintf(text, sizeof text, "%016llx%016llx-%zu", static_cast<unsigned long long>(hash >> 64),
                static_cast<unsigned long long>(hash), bytes.size());
  return text;
}

}  // namespace cushim::sim
