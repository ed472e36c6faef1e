// SPDX-License-Identifier: Apache-2.0
#include "run/record_ptx.hpp"

#include <cstdlib>

namespace cushim::command {
namespace {

namespace fs = std::filesystem;

std::string value_of(const char *variable) {
  const char *const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// Returns the folder of the option, of the variable, or in the user's cache; empty if there is none.
std::string folder_of(const std::string &store) {
  if (store == "none") return "";
  const std::string named = store.empty() ? value_of("CUSHIM_PTX_STORE") : store;
  if (!named.empty()) return fs::absolute(named).string();
  if (const std::string cache = value_of("XDG_CACHE_HOME"); cache.starts_with('/'))
    return cache + "/cushim/ptx";
  const std::string home = value_of("HOME");
  return home.starts_with('/') ? home + "/.cache/cushim/ptx" : "";
}

}  // namespace

void record_ptx(const std::string &store, const fs::path &recorder) {
  const std::string folder = folder_of(store);
  if (folder.empty()) {
    unsetenv("CUSHIM_PTX_STORE");
    return;
  }
  setenv("CUSHIM_PTX_STORE", folder.c_str(), 1);
  std::error_code error;
  if (!fs::exists(recorder, error)) return;
  const std::string before = value_of("LD_AUDIT");
  setenv("LD_AUDIT", (recorder.string() + (before.empty() ? "" : ":" + before)).c_str(), 1);
}

}  // namespace cushim::command
