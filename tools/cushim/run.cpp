// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "../../mock/libcuda/report_file.hpp"
#include "way_past.hpp"

namespace cushim::command {

namespace {

namespace fs = std::filesystem;

// Where the library lies, seen from this command: installed, or in a build folder.
std::optional<fs::path> find_library() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *place : {CUSHIM_SIM_FROM_BIN, "../../sim"}) {
    fs::path folder = fs::weakly_canonical(here / place, error);
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

[[nodiscard]] Outcome start(const RunOptions &options) {
  std::vector<char *> arguments;
  for (const std::string &argument : options.program)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return failure(fmt::format("{} cannot be started: {}", options.program[0], std::strerror(errno)));
}

pid_t child = 0;

// Starts the program and waits for it. Signals that are sent to this process alone go on to it; a terminal
// sends its own to both. Empty if it cannot be started: that has been said.
std::optional<int> wait_for(const RunOptions &options) {
  for (const int number : {SIGINT, SIGQUIT}) std::signal(number, SIG_IGN);
  child = fork();
  if (child == 0) {
    for (const int number : {SIGINT, SIGQUIT}) std::signal(number, SIG_DFL);
    std::fputs(start(options).text.c_str(), stderr);
    _exit(static_cast<int>(Exit::usage));
  }
  if (child < 0) return std::nullopt;
  for (const int number : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    std::signal(number, [](int sent) { kill(child, sent); });
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The folder in which processes leave word that they opened the driver, and of findings.
struct Folder {
  Folder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "cushim-run-XXXXXX").string();
    if (error)
      errno = error.value();
    else if (mkdtemp(name.data()) != nullptr)
      path = name;
  }
  ~Folder() {
    std::error_code error;
    if (!path.empty()) fs::remove_all(path, error);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  bool has(const char *mark) const {
    std::error_code error;
    for (const auto &file : fs::directory_iterator(path, error))
      if (file.path().extension() == mark) return true;
    return false;
  }

  fs::path path;
};

// The report of a program none of whose processes opened the driver: that, and why.
void report_absence(const RunOptions &options, const std::string &why) {
  if (options.report == "stderr") {
    std::fprintf(stderr, "cushim[%d]: %s did not open the SIMULATED driver: %s\n", static_cast<int>(child),
                 options.program[0].c_str(), why.c_str());
    return;
  }
  Json json = sim::report_head(child, options.program[0], true);
  json["went_past"] = why;
  sim::add_nothing_done(json);
  try {
    sim::write_report(sim::report_file(options.report, child), json);
  } catch (const std::runtime_error &error) {
    std::fprintf(stderr, "cushim run: %s\n", error.what());
  }
}

// Processes may have another current folder when they open the driver.
std::string with_whole_path(const std::string &faults) {
  return faults.starts_with('@') ? "@" + fs::absolute(faults.substr(1)).string() : faults;
}

Outcome watch(const RunOptions &options) {
  const Folder folder;
  if (folder.path.empty()) {
    const int error = errno;
    if (!options.requires_driver && !options.error_exit) return start(options);  // less is said of it
    return failure(fmt::format("no folder can be made: {}", std::strerror(error)));
  }
  set("CUSHIM_RUN_FOLDER", folder.path.string());
  const std::optional<int> status = wait_for(options);
  if (!status) return failure(fmt::format("no process can be made: {}", std::strerror(errno)));
  if (!folder.has(".opened")) {
    const std::string why = way_past(options.program[0]);
    if (!options.report.empty()) report_absence(options, why);
    if (options.requires_driver) {
      // Standard output is the program's.
      std::fprintf(stderr, "cushim run: no process opened the SIMULATED driver: %s\n", why.c_str());
      return {Exit::no_driver, "", {}};
    }
  }
  if (options.error_exit && folder.has(".findings")) return {Exit{*options.error_exit}, "", {}};
  if (WIFEXITED(*status)) return {Exit{WEXITSTATUS(*status)}, "", {}};
  std::signal(WTERMSIG(*status), SIG_DFL);
  raise(WTERMSIG(*status));
  return {Exit{128 + WTERMSIG(*status)}, "", {}};
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
  set("CUSHIM_FAULTS", with_whole_path(options.faults));
  set("CUSHIM_REPORT", options.report);
  set("CUSHIM_CHECK", options.check);
  const bool is_watched = options.requires_driver || options.error_exit || !options.report.empty();
  return is_watched ? watch(options) : start(options);
}

}  // namespace cushim::command
