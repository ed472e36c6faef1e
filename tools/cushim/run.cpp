// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

namespace cushim::command {

namespace {

namespace fs = std::filesystem;

// Where the library lies, seen from this command: installed, or in a build folder.
std::optional<fs::path> find_library() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *place : {CUSHIM_SIM_FROM_BIN, "../../sim"}) {
    const fs::path folder = fs::weakly_canonical(here / place, error);
    if (fs::exists(folder / "libcuda.so.1", error)) return folder;
  }
  return std::nullopt;
}

void set(const char *variable, const std::string &value) {
  if (!value.empty()) setenv(variable, value.c_str(), 1);
}

Outcome failure(const std::string &what) {
  return {Exit::usage, "cushim run: " + what + "\n", Json{{"error", what}}};
}

}  // namespace

Outcome run(const RunOptions &options) {
  fs::path folder = options.library;
  if (folder.empty()) {
    const auto found = find_library();
    if (!found)
      return failure("the simulated driver is not installed beside this command (package component sim)");
    folder = *found;
  } else if (!fs::exists(folder / "libcuda.so.1")) {
    return failure(fmt::format("there is no libcuda.so.1 in {}", folder.string()));
  }
  const char *const before = std::getenv("LD_LIBRARY_PATH");
  const bool has_before = before != nullptr && *before != '\0';
  set("LD_LIBRARY_PATH", folder.string() + (has_before ? std::string(":") + before : std::string()));
  set("CUSHIM_DEVICES", options.devices);
  set("CUSHIM_DRIVER_VERSION", options.driver_version);
  set("CUSHIM_SCHEDULE", options.schedule);
  set("CUSHIM_SEED", options.seed);
  std::vector<char *> arguments;
  for (const std::string &argument : options.program)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return failure(fmt::format("{} cannot be started: {}", options.program[0], std::strerror(errno)));
}

}  // namespace cushim::command
