// SPDX-License-Identifier: Apache-2.0
// Finds where a module's image ends.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include <cushim/detail/fat_binary.hpp>
#include "buffers.hpp"

namespace cushim::replay {
namespace {

template <class T>
T read(std::uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void *>(address), sizeof value);
  return value;
}

std::uint64_t size_of_elf(std::uint64_t address) {
  const auto header = read<Elf64_Ehdr>(address);
  std::uint64_t end = std::max(header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize,
                               header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
  for (unsigned i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr); ++i) {
    const auto section = read<Elf64_Shdr>(address + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace

std::uint64_t size_of_image(std::uint64_t &address) {
  // No magic number has a NUL, so nothing is read behind the end of a short text.
  const auto begins_with = [&](std::uint32_t magic) {
    return std::strncmp(reinterpret_cast<const char *>(address), reinterpret_cast<const char *>(&magic),
                        sizeof magic) == 0;
  };
  if (std::strncmp(reinterpret_cast<const char *>(address), ELFMAG, SELFMAG) == 0)
    return size_of_elf(address);
  if (read<char>(address) == 0) return 0;
  if (begins_with(fat_binary::kWrapperMagic)) {
    address = reinterpret_cast<std::uint64_t>(read<fat_binary::Wrapper>(address).data);
    if (address == 0 || !begins_with(fat_binary::kContainerMagic)) return 0;
  }
  if (begins_with(fat_binary::kContainerMagic)) {
    const auto container = read<fat_binary::Container>(address);
    return container.header_size + container.size;
  }
  return std::strlen(reinterpret_cast<const char *>(address)) + 1;
}

}  // namespace cushim::replay
