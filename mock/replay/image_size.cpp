// SPDX-License-Identifier: Apache-2.0
// Finds where a module's image ends.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <cushim/detail/fat_binary.hpp>
#include "buffers.hpp"
#include "process.hpp"

namespace cushim::replay {
namespace {

template <class T>
T read(std::uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void *>(address), sizeof value);
  return value;
}

// Returns where the last section or table ends. read(object, address) returns whether the object exists;
// sections whose headers do not exist are left out.
template <class Read>
std::uint64_t size_of_elf(std::uint64_t address, const Elf64_Ehdr &header, Read read) {
  std::uint64_t end = std::max({std::uint64_t{sizeof header},
                                header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize,
                                header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize});
  Elf64_Shdr section;
  for (unsigned i = 0; i < header.e_shnum && header.e_shentsize == sizeof section; ++i)
    if (read(section, address + header.e_shoff + i * sizeof section) && section.sh_type != SHT_NOBITS)
      end = std::max(end, section.sh_offset + section.sh_size);
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
    return size_of_elf(address, read<Elf64_Ehdr>(address), [](auto &object, std::uint64_t at) {
      object = read<std::remove_reference_t<decltype(object)>>(at);
      return true;
    });
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

std::string bytes_of_rejected_image(std::uint64_t address) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20, kPiece = 4096;
  const auto object_at = [](auto &object, std::uint64_t at) {
    return trace::copy_all_if_there(&object, at, sizeof object);
  };
  std::uint32_t magic = 0;
  if (!object_at(magic, address)) magic = 0;
  if (fat_binary::Wrapper wrapper; magic == fat_binary::kWrapperMagic && object_at(wrapper, address)) {
    address = reinterpret_cast<std::uint64_t>(wrapper.data);
    if (!object_at(magic, address)) return {};
  }
  std::uint64_t size = kMost;
  bool is_text = true;
  if (fat_binary::Container container;
      magic == fat_binary::kContainerMagic && object_at(container, address)) {
    size = container.header_size + container.size;
    is_text = false;
  } else if (Elf64_Ehdr header; std::memcmp(&magic, ELFMAG, SELFMAG) == 0 && object_at(header, address)) {
    size = size_of_elf(address, header, object_at);
    is_text = false;
  }
  std::string bytes;
  while (bytes.size() < std::min(size, kMost)) {
    const std::uint64_t at = address + bytes.size(), begin = bytes.size();
    const std::uint64_t wanted = std::min(std::min(size, kMost) - begin, kPiece - at % kPiece);
    bytes.resize(begin + wanted);
    if (!trace::copy_all_if_there(bytes.data() + begin, at, wanted)) {
      bytes.resize(begin);
      break;
    }
    const std::size_t end = is_text ? bytes.find('\0', begin) : bytes.npos;
    if (end != bytes.npos) return bytes.substr(0, end + 1);
  }
  return bytes;
}

}  // namespace cushim::replay
