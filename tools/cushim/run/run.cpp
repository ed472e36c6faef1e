// SPDX-License-Identifier: Apache-2.0
#include "run/run.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cushim/driver.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>

#include <cushim/detail/report_file.hpp>
#include "common/cushim_library.hpp"
#include "common/text.hpp"
#include "run/bypass.hpp"
#include "run/record_ptx.hpp"
#include "trace/trace.hpp"

namespace cushim::command {

namespace {

namespace fs = std::filesystem;

// Finds the directory of cushim's libcuda.so.1 relative to this command: installed, or in a build directory.
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

// Opens cushim's libcuda.so.1 in a child process. If it rejects an option, as it would in the program, it
// prints a message on stderr and exits with this code.
constexpr int rejected = 2;

bool is_rejected(const fs::path &folder) {
  const pid_t trial = fork();
  if (trial == 0) {
    for (const char *variable : {"CUSHIM_RECORD", "CUSHIM_REPORT", "CUSHIM_RUN_FOLDER", "CUSHIM_TRACE"})
      unsetenv(variable);
    dlopen((folder / "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    _exit(0);
  }
  int status = 0;
  while (trial > 0 && waitpid(trial, &status, 0) < 0 && errno == EINTR) {
  }
  return trial > 0 && WIFEXITED(status) && WEXITSTATUS(status) == rejected;
}

// Returns the reason why a report or trace of this name cannot be written, or nullopt.
std::optional<std::string> write_problem(const std::string &name) {
  if (name.empty() || name == "stderr") return {};
  const std::string file = sim::report_file(name, getpid());
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool is_there = descriptor < 0 && errno == EEXIST;
  if (descriptor >= 0) {
    close(descriptor);
    unlink(file.c_str());
  } else if (!is_there || access(file.c_str(), W_OK) != 0) {
    return fmt::format("cannot write to {}: {}", file, std::strerror(errno));
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

// The driver that receives the calls, as CUSHIM_DRIVER names it.
struct ChosenDriver {
  std::string variable;  // sim or an absolute path; empty if the variable is not to be set

  bool is_simulated() const { return variable.empty() || variable == "sim"; }
  std::string path() const { return is_simulated() ? "" : variable; }
  const char *opened() const { return is_simulated() ? "the SIMULATED driver" : "cushim's libcuda.so.1"; }
};

// Returns the path of the installed driver. Throws std::runtime_error if there is none, or if the first that
// is found is cushim's.
std::string installed_driver() {
  const Loaded installed = Driver::load();
  if (!installed) throw std::runtime_error(installed.diagnosis.text());
  std::string path(installed->name());
  if (simulated_driver(path))
    throw std::runtime_error(
        fmt::format("the first libcuda.so.1 in the search path, {}, is cushim's; remove it "
                    "from LD_LIBRARY_PATH, or pass --driver PATH",
                    path));
  return path;
}

// Throws as installed_driver(). `library` is cushim's libcuda.so.1.
ChosenDriver choose_driver(const RunOptions &options, const fs::path &library) {
  if (options.driver == "real") return {installed_driver()};
  if (options.driver.empty()) {
    const char *const variable = std::getenv("CUSHIM_DRIVER");
    return {variable != nullptr ? variable : ""};
  }
  if (options.driver == "sim") return {options.driver};
  std::error_code error;
  const bool is_own = fs::equivalent(options.driver, library, error);
  return {is_own ? "sim" : fs::absolute(options.driver).string()};
}

// Writes the report of a program in which no process opened the driver, with the reason.
void report_absence(const RunOptions &options, const ChosenDriver &driver, const std::string &why) {
  if (options.report == "stderr") {
    std::fprintf(stderr, "cushim[%d]: %s did not open %s: %s\n", static_cast<int>(child),
                 printable(options.program[0]).c_str(), driver.opened(), printable(why).c_str());
    return;
  }
  Json json = sim::report_head(driver.path(), child, options.program[0], true);
  json["bypass_reason"] = why;
  sim::add_empty_usage(json, driver.is_simulated());
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

// Writes the traces of the recordings in the directory. Returns whether all could be written.
bool write_traces(const RunOptions &options, const fs::path &folder) {
#ifdef CUSHIM_WITH_TRACE
  std::error_code error;
  for (const auto &file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() != ".trace") continue;
    try {
      if (options.has_summary) write_trace(file.path().string(), "summary", std::cerr);
      if (options.trace.empty()) continue;
      const std::string name = sim::report_file(options.trace, std::stoi(file.path().stem().string()));
      if (const auto format = trace_format_of(options.trace)) {
        std::ofstream to(name, std::ios::trunc);
        write_trace(file.path().string(), *format, to);
        if (!to.flush())
          throw std::runtime_error(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
      } else {
        fs::copy_file(file.path(), name, fs::copy_options::overwrite_existing);
      }
    } catch (const std::exception &failed) {
      std::fprintf(stderr, "cushim run: the trace: %s\n", printable(failed.what()).c_str());
      return false;
    }
  }
#else
  static_cast<void>(options), static_cast<void>(folder);
#endif
  return true;
}

Outcome watch(const RunOptions &options, const ChosenDriver &driver, const fs::path &library) {
  const Folder folder;
  if (folder.path.empty()) {
    const int error = errno;
    // without these options only the report would need the directory
    if (!options.requires_driver && !options.error_exit && !options.is_traced()) return start(options);
    return failure(fmt::format("cannot create a temporary directory: {}", std::strerror(error)));
  }
  set("CUSHIM_RUN_FOLDER", folder.path.string());
  if (options.is_traced()) set("CUSHIM_TRACE", (folder.path / "%p.trace").string());
  // NVTX gives the names of objects to the library that this variable names. A tool may have set it.
  if (options.is_traced()) setenv("NVTX_INJECTION64_PATH", (library / "libcuda.so.1").c_str(), 0);
  if (options.traces_call_stacks) set("CUSHIM_TRACE_CALL_STACKS", "1");
  if (options.measures_gpu_times) set("CUSHIM_TRACE_GPU_TIMES", "1");
  const std::optional<int> status = wait_for(options);
  if (!status) return failure(fmt::format("cannot create a process: {}", std::strerror(errno)));
  if (!write_traces(options, folder.path)) return {Exit::usage, "", {}};
  if (!folder.has(".opened")) {
    const std::string why = bypass_reason(options.program[0]);
    if (!options.report.empty()) report_absence(options, driver, why);
    if (options.requires_driver) {
      // Standard output belongs to the program.
      std::fprintf(stderr, "cushim run: no process opened %s: %s\n", driver.opened(), printable(why).c_str());
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
          "cushim's libcuda.so.1 was not found next to this command; install the package component sim, or "
          "pass "
          "--library");
    folder = *found;
  } else if (!fs::is_regular_file(folder / "libcuda.so.1")) {
    return failure(fmt::format("{} does not contain libcuda.so.1", folder.string()));
  }
  folder = fs::absolute(folder);  // the program may change its current directory
  ChosenDriver driver;
  try {
    driver = choose_driver(options, folder / "libcuda.so.1");
  } catch (const std::runtime_error &error) {
    std::fprintf(stderr, "cushim run: %s\n", printable(error.what()).c_str());
    return {Exit::no_driver, "", {}};
  }
  const bool has_machine_options =
      !options.devices.empty() || !options.driver_version.empty() || !options.schedule.empty() ||
      !options.seed.empty() || !options.kernels.empty() || options.skips_kernels ||
      !options.profile_kernels.empty() || !options.kernel_times.empty() || !options.kernel_limit.empty();
  if (has_machine_options && !driver.is_simulated())
    return failure(
        "--devices, --driver-version, --schedule, --seed, --kernels, --skip-kernels, --profile-kernels, "
        "--kernel-times and --kernel-limit are options of the simulated driver");
  if (options.measures_gpu_times && driver.is_simulated())
    return failure(
        "--gpu-times is an option of other drivers: traces of the simulated driver have its virtual time");
  const char *const before = std::getenv("LD_LIBRARY_PATH");
  const bool has_before = before != nullptr && *before != '\0';
  set("LD_LIBRARY_PATH", folder.string() + (has_before ? std::string(":") + before : std::string()));
  set("CUSHIM_DRIVER", driver.variable);
  set("CUSHIM_DEVICES", options.devices);
  set("CUSHIM_DRIVER_VERSION", options.driver_version);
  set("CUSHIM_SCHEDULE", options.schedule);
  set("CUSHIM_SEED", options.seed);
  set("CUSHIM_FAULTS", with_absolute_path(options.faults));
  set("CUSHIM_REPORT", options.report);
  set("CUSHIM_CHECK", options.check);
  // Processes may change their current directory before they open the driver.
  if (!options.record.empty()) set("CUSHIM_RECORD", fs::absolute(options.record).string());
  set("CUSHIM_RECORD_DATA", options.record_data);
  set("CUSHIM_KERNELS", options.kernels);
  if (options.skips_kernels) set("CUSHIM_SKIP_KERNELS", "1");
  // Processes may change their current directory.
  const bool is_profile_file = !options.profile_kernels.empty() && options.profile_kernels != "stderr";
  const std::string profile =
      is_profile_file ? fs::absolute(options.profile_kernels).string() : options.profile_kernels;
  set("CUSHIM_PROFILE_KERNELS", profile);
  set("CUSHIM_KERNEL_TIMES", options.kernel_times);
  set("CUSHIM_KERNEL_LIMIT", options.kernel_limit);
  if (driver.is_simulated()) record_ptx(options.ptx_store, folder / "libcushim_ptx_recorder.so");
  for (const std::string &file : {options.report, options.trace, options.record})
    if (const auto why = write_problem(file)) return failure(*why);
  if (is_profile_file)
    if (const auto why = write_problem(sim::kernel_report_file(profile, getpid()))) return failure(*why);
  const bool has_driver_options =
      has_machine_options || !options.driver.empty() || !options.faults.empty() || !options.check.empty();
  if (has_driver_options && is_rejected(folder)) return {Exit::usage, "", {}};
  const bool is_watched =
      options.requires_driver || options.error_exit || !options.report.empty() || options.is_traced();
  return is_watched ? watch(options, driver, folder) : start(options);
}

}  // namespace cushim::command
