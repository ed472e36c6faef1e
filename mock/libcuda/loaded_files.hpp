// SPDX-License-Identifier: Apache-2.0
// The files that are loaded into this process.
#pragma once

#include <link.h>

#include <functional>

namespace cushim::sim {

inline bool contains(const dl_phdr_info &file, const void *address) {
  const auto wanted = reinterpret_cast<ElfW(Addr)>(address);
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const auto &part = file.dlpi_phdr[i];
    const ElfW(Addr) begin = file.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && wanted >= begin && wanted - begin < part.p_memsz) return true;
  }
  return false;
}

// Calls visit for each file, in the order in which the dynamic linker loaded them.
inline void for_each_loaded_file(const std::function<void(const dl_phdr_info &file)> &visit) {
  dl_iterate_phdr(
      [](dl_phdr_info *file, std::size_t, void *data) {
        (*static_cast<const std::function<void(const dl_phdr_info &)> *>(data))(*file);
        return 0;
      },
      const_cast<void *>(static_cast<const void *>(&visit)));
}

}  // namespace cushim::sim
