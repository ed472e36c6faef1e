// SPDX-License-Identifier: Apache-2.0
#include "common/cushim_library.hpp"

#include <dlfcn.h>

namespace cushim::command {

std::optional<std::string> simulated_driver(const std::string &path) {
  void *const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  std::optional<std::string> answer;
  if (void *const symbol = dlsym(library, "cushim_simulated_driver")) {
    const char *const name = reinterpret_cast<const char *(*)()>(symbol)();
    answer = name != nullptr ? name : "";
  }
  dlclose(library);
  return answer;
}

}  // namespace cushim::command
