// SPDX-License-Identifier: Apache-2.0
#include "kernels/object_file.hpp"

#include <ar.h>
#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

#include <cushim/detail/fat_binary.hpp>
#include "kernels/cubin.hpp"
#include "kernels/elf.hpp"

namespace cushim::sim {

namespace {

constexpr std::string_view kArchive(ARMAG, SARMAG);

// Appends the fat binaries of a section, which lie one after the other at multiples of 8 bytes.
void add_fat_binaries(std::string_view section, std::string_view member, std::vector<DeviceImage> &images) {
  fat_binary::Container container;
  while (section.size() >= sizeof container) {
    std::memcpy(&container, section.data(), sizeof container);
    if (container.magic != fat_binary::kContainerMagic || container.header_size < sizeof container ||
        container.size > section.size() || section.size() - container.size < container.header_size)
      return;
    const std::size_t size = container.header_size + container.size;
    images.push_back({member, section.substr(0, size)});
    section.remove_prefix(std::min(section.size(), (size + 7) / 8 * 8));
  }
}

// Returns whether the file is an ELF file, but not a cubin.
bool is_object(std::string_view file) {
  return file.starts_with(std::string_view(ELFMAG, SELFMAG)) && !is_cubin(file.data(), file.size());
}

// Driver 580 links the code of __nv_relfatbin only, not that of .nv_fatbin, if there is a .nvFatBinSegment.
void add_images_of_object(std::string_view file, std::string_view member, std::vector<DeviceImage> &images) {
  const std::vector<ElfSection> sections = sections_of(file);
  if (std::ranges::find(sections, ".nvFatBinSegment", &ElfSection::name) == sections.end()) return;
  for (const ElfSection &section : sections)
    if (section.name == "__nv_relfatbin") add_fat_binaries(section.content, member, images);
}

// Returns a field of a member's header without the blanks after it.
template <std::size_t Size>
std::string_view text_of(const char (&field)[Size]) {
  const std::string_view text(field, Size);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::vector<DeviceImage> images_of_archive(std::string_view archive) {
  std::vector<DeviceImage> images;
  std::string_view long_names;
  archive.remove_prefix(kArchive.size());
  while (archive.size() >= sizeof(ar_hdr)) {
    const auto *const header = reinterpret_cast<const ar_hdr *>(archive.data());  // only characters
    std::string_view name = text_of(header->ar_name);
    const std::string_view digits = text_of(header->ar_size);
    std::uint64_t size = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), size);
    archive.remove_prefix(sizeof(ar_hdr));
    if (size > archive.size()) return {};
    const std::string_view content = archive.substr(0, size);
    archive.remove_prefix(std::min<std::uint64_t>(archive.size(), size + size % 2));
    if (name == "//") long_names = content;
    if (name == "/" || name == "//" || name == "/SYM64/") continue;
    if (!is_object(content)) return {};
    std::size_t at = 0;
    if (name.starts_with('/') && name.size() > 1 &&
        std::from_chars(name.data() + 1, name.data() + name.size(), at).ec == std::errc() &&
        at < long_names.size())
      name = long_names.substr(at, std::min(long_names.size(), long_names.find('\n', at)) - at);
    if (name.ends_with('/')) name.remove_suffix(1);
    add_images_of_object(content, name, images);
  }
  return images;
}

}  // namespace

std::optional<std::vector<DeviceImage>> device_images(std::string_view file) {
  if (file.starts_with(kArchive)) return images_of_archive(file);
  if (!is_object(file)) return std::nullopt;
  std::vector<DeviceImage> images;
  add_images_of_object(file, {}, images);
  return images;
}

}  // namespace cushim::sim
