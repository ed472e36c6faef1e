// SPDX-License-Identifier: Apache-2.0
// The dynamic linker's audit interface (man 7 rtld-audit; the library is named by LD_AUDIT). It sees each
// binding of a function, by the linker and by dlsym(), whatever the library's path, and names another
// function instead. An LD_PRELOAD library would have to replace dlsym() itself, and would miss libraries that
// are linked by libraries opened with RTLD_LOCAL.
#include <link.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "recorder.hpp"

namespace {

using namespace cushim::recorder;

// Wheels rename libraries to libnvrtc-1a2b3c4d.so.12, so only the start of the name is compared.
bool is_maker(const link_map &library) {
  if (library.l_name == nullptr) return false;
  const char *const slash = std::strrchr(library.l_name, '/');
  const std::string_view file = slash != nullptr ? slash + 1 : library.l_name;
  return (file.starts_with("libnvrtc") && !file.starts_with("libnvrtc-builtins")) ||
         file.starts_with("libnvJitLink");
}

const link_map &library_of(const std::uintptr_t *cookie) {
  return *reinterpret_cast<const link_map *>(*cookie);
}

[[gnu::destructor]] void end() { end_ptxas(); }

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED unsigned la_version(unsigned version) {
  begin_ptxas();
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORTED unsigned la_objopen(link_map *map, Lmid_t space, std::uintptr_t *cookie) {
  *cookie = reinterpret_cast<std::uintptr_t>(map);
  if (space != LM_ID_BASE) return 0;
  return is_maker(*map) ? LA_FLG_BINDTO | LA_FLG_BINDFROM : LA_FLG_BINDFROM;
}

EXPORTED unsigned la_objclose(std::uintptr_t *cookie) {
  forget_nvrtc(library_of(cookie));
  forget_nvjitlink(library_of(cookie));
  return 0;
}

EXPORTED std::uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned, std::uintptr_t *from, std::uintptr_t *to,
                                     unsigned *, const char *name) {
  if (*from == *to || !is_maker(library_of(to))) return symbol->st_value;  // calls within the library itself
  void *function = replace_nvrtc(library_of(to), name);
  if (function == nullptr) function = replace_nvjitlink(library_of(to), name);
  return function != nullptr ? reinterpret_cast<std::uintptr_t>(function) : symbol->st_value;
}
