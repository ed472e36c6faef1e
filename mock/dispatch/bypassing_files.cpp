// SPDX-License-Identifier: Apache-2.0
#include "bypassing_files.hpp"

#include <link.h>

#include <cstdio>
#include <cushim/driver.hpp>
#include <string_view>

namespace cushim::mock {
namespace {

bool is_driver_or_runtime(std::string_view library) {
  return library.starts_with("libcuda.so") || library.starts_with("libcudart.so");
}

// Returns whether the dynamic section of a file lists such a library as needed.
bool links_driver(const dl_phdr_info &file) {
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    if (file.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto *const first = reinterpret_cast<const ElfW(Dyn) *>(file.dlpi_addr + file.dlpi_phdr[i].p_vaddr);
    const char *names = nullptr;
    for (const ElfW(Dyn) *entry = first; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char *>(entry->d_un.d_ptr);
    if (names == nullptr) continue;
    for (const ElfW(Dyn) *entry = first; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED && is_driver_or_runtime(names + entry->d_un.d_val)) return true;
  }
  return false;
}

void warn(const char *text, const std::vector<std::string> &paths) {
  if (paths.empty()) return;
  std::string list;
  for (const std::string &path : paths) list += (list.empty() ? "" : ", ") + path;
  std::fprintf(stderr, "cushim: mock drivers do not receive calls from %s: %s\n", text, list.c_str());
}

}  // namespace

std::vector<std::string> driver_users() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info *file, std::size_t, void *data) {
        if (links_driver(*file))
          static_cast<std::vector<std::string> *>(data)->emplace_back(
              file->dlpi_name[0] != '\0' ? file->dlpi_name : "the program itself");
        return 0;
      },
      &paths);
  return paths;
}

std::vector<std::string> other_copies() {
  std::vector<std::string> paths;
  for (const Copy &copy : copies())
    if (!copy.is_this_one) paths.push_back(copy.path);
  return paths;
}

void warn_about_bypasses() {
  warn("other copies of cushim in this process", other_copies());
  warn("files that link libcuda or NVIDIA's runtime library", driver_users());
}

}  // namespace cushim::mock
