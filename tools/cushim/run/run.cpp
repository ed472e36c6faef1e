// SPDX-License-Identifier: Apache-2.0
#include "run/run.hpp"

#include <dlfcn.h>
#include <fcntl.h>
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

#include <cushim/detail/report_file.hpp>
#include "common/text.hpp"
#include "run/bypass.hpp"

namespace cushim::command {

namespace {

namespace fs = std::filesystem;

// Finds the simulated driver's directory relative to this command: installed, or in a build directory.
std::optional<fs::path> find_library() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *candidate : {CUSHIM_SIM_FROM_BIN, "../../sim"}) {
    fs::path folder = fs::weakly_canonical(here / candidate, error);
    if (fs::exists(folder / "libcuda.so.1", error)) return folder;
  }
  return std::nullopt;
}

void set(const char *variable, const std::string &value) {
  if (!value.empty()) setenv(variable, value.c_str(), 1);
}

Outcome failure(const std::string &what) {
  return {Exit::usage, "cushim run: " + printable(what) + "\n", Json{{"error", what}}};
}

// Opens the simulated driver in a child process. If the driver rejects an option, as it would in the program,
// it prints a message on stderr and exits with this code.
constexpr int rejected = 2;

bool is_rejected(const fs::path &folder) {
  const pid_t trial = fork();
  if (trial == 0) {
    for (const char *variable : {"CUSHIM_REPORT", "CUSHIM_RUN_FOLDER"}) unsetenv(variable);
    dlopen((folder / "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    _exit(0);
  }
  int status = 0;
  while (trial > 0 && waitpid(trial, &status, 0) < 0 && errno == EINTR) {
  }
  return trial > 0 && WIFEXITED(status) && WEXITSTATUS(status) == rejected;
}

// Returns the reason why the report cannot be written, or nullopt.
std::optional<std::string> report_problem(const std::string &report) {
  if (report.empty() || report == "stderr") return {};
  const std::string file = sim::report_file(report, getpid());
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool is_there = descriptor < 0 && errno == EEXIST;
  if (descriptor >= 0) {
    close(descriptor);
    unlink(file.c_str());
  } else if (!is_there || access(file.c_str(), W_OK) != 0) {
    return fmt::format("cannot write the report to {}: {}", file, std::strerror(errno));
  }
  return {};
}

[[nodiscard]] Outcome start(const RunOptions &options) {
  std::vector<char *> arguments;
  for (const std::string &argument : options.program)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return failure(fmt::format("cannot start {}: {}", options.program[0], std::strerror(errno)));
}

volatile pid_t child = 0;

// Forwards a signal to the program. Skips signals that the kernel generated (si_code > 0): the terminal sends
// those to the program as well.
void forward_signal(int number, siginfo_t *how, void *) {
  if (how->si_code <= 0) kill(child, number);
}

constexpr int forwarded_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// Starts the program, forwards signals to it, and waits until it exits. Returns nullopt if fork fails.
std::optional<int> wait_for(const RunOptions &options) {
  sigset_t signals, mask;
  sigemptyset(&signals);
  for (const int number : forwarded_signals) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, &mask);  // until `child` is set
  child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    std::fputs(start(options).text.c_str(), stderr);
    _exit(static_cast<int>(Exit::usage));
  }
  if (child < 0) return std::nullopt;
  struct sigaction action = {};
  action.sa_sigaction = forward_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int number : forwarded_signals) sigaction(number, &action, nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// A temporary directory in which processes record that they opened the driver, or that they have findings.
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

// Writes the report of a program in which no process opened the driver, with the reason.
void report_absence(const RunOptions &options, const std::string &why) {
  if (options.report == "stderr") {
    std::fprintf(stderr, "cushim[%d]: %s did not open the SIMULATED driver: %s\n", static_cast<int>(child),
                 printable(options.program[0]).c_str(), printable(why).c_str());
    return;
  }
  Json json = sim::report_head(child, options.program[0], true);
  json["bypass_reason"] = why;
  sim::add_empty_usage(json);
  try {
    sim::write_report(sim::report_file(options.report, child), json);
  } catch (const std::runtime_error &error) {
    std::fprintf(stderr, "cushim run: %s\n", error.what());
  }
}

// Makes the path of a faults file absolute: processes may change their current directory before they open the
// driver.
std::string with_absolute_path(const std::string &faults) {
  return faults.starts_with('@') ? fmt::format("@{}", fs::absolute(faults.substr(1)).string()) : faults;
}

Outcome watch(const RunOptions &options) {
  const Folder folder;
  if (folder.path.empty()) {
    const int error = errno;
    // without these options only the report would need the directory
    if (!options.requires_driver && !options.error_exit) return start(options);
    return failure(fmt::format("cannot create a temporary directory: {}", std::strerror(error)));
  }
  set("CUSHIM_RUN_FOLDER", folder.path.string());
  const std::optional<int> status = wait_for(options);
  if (!status) return failure(fmt::format("cannot create a process: {}", std::strerror(errno)));
  if (!folder.has(".opened")) {
    const std::string why = bypass_reason(options.program[0]);
    if (!options.report.empty()) report_absence(options, why);
    if (options.requires_driver) {
      // Standard output belongs to the program.
      std::fprintf(stderr, "cushim run: no process opened the SIMULATED driver: %s\n",
                   printable(why).c_str());
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
      return failure(
          "the simulated libcuda.so.1 was not found next to this command; install the package component sim, "
          "or pass --library");
    folder = *found;
  } else if (!fs::is_regular_file(folder / "libcuda.so.1")) {
    return failure(fmt::format("{} does not contain libcuda.so.1", folder.string()));
  }
  folder = fs::absolute(folder);  // the program may change its current directory
  const char *const before = std::getenv("LD_LIBRARY_PATH");
  const bool has_before = before != nullptr && *before != '\0';
  set("LD_LIBRARY_PATH", folder.string() + (has_before ? std::string(":") + before : std::string()));
  set("CUSHIM_DEVICES", options.devices);
  set("CUSHIM_DRIVER_VERSION", options.driver_version);
  set("CUSHIM_SCHEDULE", options.schedule);
  set("CUSHIM_SEED", options.seed);
  set("CUSHIM_FAULTS", with_absolute_path(options.faults));
  set("CUSHIM_REPORT", options.report);
  set("CUSHIM_CHECK", options.check);
  if (const auto why = report_problem(options.report)) return failure(*why);
  const bool has_driver_options = !options.devices.empty() || !options.driver_version.empty() ||
                                  !options.schedule.empty() || !options.seed.empty() ||
                                  !options.faults.empty() || !options.check.empty();
  if (has_driver_options && is_rejected(folder)) return {Exit::usage, "", {}};
  const bool is_watched = options.requires_driver || options.error_exit || !options.report.empty();
  return is_watched ? watch(options) : start(options);
}

}  // namespace cushim::command
