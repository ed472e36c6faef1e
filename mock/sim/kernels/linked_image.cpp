// SPDX-License-Identifier: Apache-2.0
#include "kernels/linked_image.hpp"

#include <elf.h>

#include <cstring>

#include "kernels/cubin.hpp"
#include "kernels/elf.hpp"

namespace cushim::sim {

namespace {

constexpr std::string_view kSection = ".cushim.linked";  // the targets, then the PTX

struct Targets {
  std::uint32_t oldest;
  std::int32_t machine;
};

}  // namespace

std::string to_cubin(const LinkedImage &image, const std::vector<std::string> &kernels) {
  std::string names(1, '\0'), contents;
  std::vector<Elf64_Shdr> sections(1);
  const auto add = [&](std::string_view name, std::string_view content, Elf64_Word type) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    section.sh_size = content.size();
    sections.push_back(section);
    names.append(name).push_back('\0');
    contents += content;
  };
  for (const std::string &kernel : kernels) add(".text." + kernel, {}, SHT_PROGBITS);
  const Targets targets{image.oldest_target, image.machine_target};
  std::string content(sizeof targets, '\0');
  std::memcpy(content.data(), &targets, content.size());
  add(kSection, content + image.ptx, SHT_PROGBITS);
  add(".shstrtab", {}, SHT_STRTAB);
  sections.back().sh_size = names.size();
  contents += names;
  contents.resize((contents.size() + 7) / 8 * 8);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = kElfByteOrder;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = kCudaMachine;
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof header + contents.size();
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  std::string file(reinterpret_cast<const char *>(&header), sizeof header);
  file += contents;
  file.append(reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof sections[0]);
  return file;
}

std::optional<LinkedImage> linked_image_in(std::string_view cubin) {
  for (const ElfSection &section : sections_of(cubin)) {
    LinkedImage image;
    Targets targets{};
    if (section.name != kSection || section.content.size() < sizeof targets) continue;
    std::memcpy(&targets, section.content.data(), sizeof targets);
    image.oldest_target = targets.oldest;
    image.machine_target = targets.machine;
    image.ptx = section.content.substr(sizeof targets);
    return image;
  }
  return std::nullopt;
}

}  // namespace cushim::sim
