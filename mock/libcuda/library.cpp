// SPDX-License-Identifier: Apache-2.0
// The state of libcuda.so.1: the driver that receives the calls, checkers and the report. It is made when the
// library is loaded and never destroyed: programs call the driver from their last destructors.
#include <dlfcn.h>
#include <unistd.h>
#include <cushim/check/call_stack.hpp>
#include <cushim/check/checkers.hpp>
#include <cushim/mock/own_thread.hpp>
#include <cushim/replay/recorder.hpp>
#include <cushim/trace/tracer.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cushim/detail/inside_call.hpp>
#include <cushim/detail/process_end.hpp>
#include <cushim/detail/report_file.hpp>
#include "chosen_driver.hpp"
#include "kernel_profile_file.hpp"
#include "loaded_files.hpp"
#include "nvtx.hpp"
#include "report.hpp"

extern "C" __attribute__((visibility("default"))) const char *cushim_simulated_driver();

namespace {

using namespace cushim::sim;

bool is_this_file(const std::string &path) {
  bool is_this = false;
  for_each_loaded_file([&](const dl_phdr_info &file) {
    std::error_code error;
    if (contains(file, reinterpret_cast<const void *>(&is_this_file)))
      is_this = std::filesystem::equivalent(file.dlpi_name, path, error);
  });
  return is_this;
}

// Returns whether another file is the process's libcuda.so.1, which forwards its calls to this one.
bool is_behind_another() {
  void *const first = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (first == nullptr) return false;
  void *const symbol = dlsym(first, "cushim_simulated_driver");
  dlclose(first);
  return symbol != reinterpret_cast<void *>(&cushim_simulated_driver);
}

// CUSHIM_DRIVER: the driver that receives the calls. Empty or "sim": the simulated one in this file, else the
// absolute path of a library. A library that is named by its own path is the simulated driver; if it is
// behind an interposed one, then the interposed library applies checkers, faults, trace and report.
struct Choice {
  std::string path{};  // empty: simulated
  bool is_behind_another = false;
};

Choice choice_from_environment() {
  const char *const variable = secure_getenv("CUSHIM_DRIVER");
  const std::string wanted = variable != nullptr ? variable : "";
  if (wanted.empty() || wanted == "sim") return {};
  if (!wanted.starts_with('/'))
    throw std::invalid_argument("CUSHIM_DRIVER must be sim or the absolute path of a library, not \"" +
                                wanted + "\"");
  if (is_this_file(wanted)) return {.is_behind_another = is_behind_another()};
  return {.path = wanted};
}

// Enables the checkers that CUSHIM_CHECK lists. Returns null if there are none; then no call is hooked.
std::unique_ptr<cushim::check::Checkers> checkers_from_environment(cushim::Driver &driver) {
  const char *const names = std::getenv("CUSHIM_CHECK");
  if (names == nullptr || *names == '\0') return nullptr;
  try {
    return std::make_unique<cushim::check::Checkers>(driver, names);
  } catch (const std::invalid_argument &error) {
    throw std::invalid_argument(std::string("CUSHIM_CHECK: ") + error.what());
  }
}

// Returns the text of the call stack of the call that runs on this thread, once for equal call stacks.
std::string_view call_stack_text() {
  static std::mutex mutex;
  static auto *const texts =
      new std::unordered_map<const void *, std::string>;  // never destroyed: calls come late
  const auto stack = cushim::check::CallStack::of_call();
  const std::lock_guard lock(mutex);
  const auto [text, is_new] = texts->try_emplace(stack.frames().data());
  if (is_new) text->second = stack.to_text();
  return text->second;
}

// CUSHIM_TRACE: the name of a recording, in which %p is the process ID; without %p, ".PROCESS" is appended.
// Returns null if it is not set; then no call is hooked. CUSHIM_TRACE_CALL_STACKS: if it is 1, call stacks
// are recorded. CUSHIM_TRACE_GPU_TIMES: if it is 1, GPU times are measured.
std::unique_ptr<cushim::trace::Tracer> tracer_from_environment(ChosenDriver &chosen) {
  const char *const file = std::getenv("CUSHIM_TRACE");
  if (file == nullptr || *file == '\0') return nullptr;
  cushim::trace::TracerOptions options{
      .virtual_time = chosen.virtual_time(),
      .observe = [&chosen](cushim::mock::OperationObserver *observer) { chosen.observe(observer); }};
  const char *const stacks = std::getenv("CUSHIM_TRACE_CALL_STACKS");
  if (stacks != nullptr && std::string_view(stacks) == "1") options.call_stack = call_stack_text;
  // The simulated driver has its virtual time.
  const char *const times = std::getenv("CUSHIM_TRACE_GPU_TIMES");
  options.gpu_times = times != nullptr && std::string_view(times) == "1" && !chosen.path().empty();
  return std::make_unique<cushim::trace::Tracer>(chosen.driver(), report_file(file, getpid()),
                                                 std::move(options));
}

// CUSHIM_RECORD: the name of a recording for cushim replay, as CUSHIM_TRACE. CUSHIM_RECORD_DATA: none, hashes
// or full. Default: full.
std::unique_ptr<cushim::replay::Recorder> recorder_from_environment(const ChosenDriver &chosen) {
  const char *const file = std::getenv("CUSHIM_RECORD");
  if (file == nullptr || *file == '\0') return nullptr;
  const char *const data = std::getenv("CUSHIM_RECORD_DATA");
  try {
    return std::make_unique<cushim::replay::Recorder>(chosen.driver(), report_file(file, getpid()),
                                                      data != nullptr && *data != '\0'
                                                          ? cushim::replay::record_data(data)
                                                          : cushim::replay::RecordData::full);
  } catch (const std::invalid_argument &error) {
    throw std::invalid_argument(std::string("CUSHIM_RECORD_DATA: ") + error.what());
  }
}

// Notes a finding in the trace, without call stacks.
void note(cushim::trace::Tracer &tracer, const cushim::check::Finding &finding) {
  std::string text = finding.checker + "/" + finding.rule + ": " + finding.what;
  for (const auto &call : finding.calls) text.append("\n").append(call.role).append(" ").append(call.text);
  tracer.note(text);
}

struct Library {
  Library() {
    if (!report.to.empty()) chosen->count_calls();
    receive_names_of_nvtx(tracer.get());
    if (tracer != nullptr && checkers != nullptr)
      cushim::check::set_finding_listener(
          [this](const cushim::check::Finding &finding) { note(*tracer, finding); });
  }

  Choice choice = choice_from_environment();
  ReportOptions report = choice.is_behind_another ? ReportOptions{} : report_options_from_environment();
  // The simulated driver writes this report, also if this library is behind another one.
  std::string kernel_report = choice.path.empty() ? kernel_report_from_environment() : "";
  std::unique_ptr<ChosenDriver> chosen =
      choice.path.empty() ? make_simulated(!choice.is_behind_another) : make_interposed(choice.path);
  cushim::ScopedDriver scope{chosen->driver()};
  std::unique_ptr<cushim::check::Checkers> checkers =
      choice.is_behind_another ? nullptr : checkers_from_environment(chosen->driver());
  // After the checkers: calls that a checker makes inside a call of the program are not recorded.
  std::unique_ptr<cushim::trace::Tracer> tracer =
      choice.is_behind_another ? nullptr : tracer_from_environment(*chosen);
  std::unique_ptr<cushim::replay::Recorder> recorder =
      choice.is_behind_another ? nullptr : recorder_from_environment(*chosen);
  pid_t process = getpid();
};

const Library *library;

void print(const char *what) { std::fprintf(stderr, "cushim: libcuda.so.1: %s\n", what); }

[[gnu::constructor]] void begin() {
  try {
    library = new Library;
    begin_report(library->report, library->chosen->path());
  } catch (const std::exception &error) {
    print(error.what());
    _exit(2);
  }
}

// Time limit of a report if a signal handler called exit() and interrupted a call of the driver.
constexpr auto kPatience = std::chrono::seconds(5);

void report() {
  try {
    std::vector<cushim::check::Finding> findings;
    if (library->checkers != nullptr) findings = library->checkers->finish();
    if (!library->kernel_report.empty())
      report_kernels(library->kernel_report, library->chosen->kernel_profiles());
    end_report(library->report, library->chosen->path(), library->chosen->usage(), findings);
  } catch (const std::exception &error) {
    print(error.what());
  }
}

// Reports on another thread, since the interrupted call may hold locks that it never releases.
void report_within_patience() {
  auto reported = std::make_shared<std::promise<void>>();
  const std::future<void> is_reported = reported->get_future();
  cushim::mock::start_thread([reported] {
    report();
    reported->set_value();
  }).detach();
  if (is_reported.wait_for(kPatience) == std::future_status::timeout)
    print("no report and no findings, because a signal handler called exit() inside a driver call");
}

// Reports at process end. In a child of fork() the driver does not work, and the counts are those of the
// parent.
[[gnu::destructor]] void end() {
  if (library == nullptr) return;
  if (getpid() != library->process && getpid() != initialized_process()) return;
  if (library->tracer != nullptr) library->tracer->note_time();
  if (library->recorder != nullptr) library->recorder->flush();
  if (!library->report.is_wanted() && library->checkers == nullptr && !library->chosen->has_faults() &&
      library->kernel_report.empty())
    return;
  if (!cushim::mock::is_inside_call()) return report();
  try {
    report_within_patience();
  } catch (const std::exception &) {
    report();  // the system cannot create a thread
  }
}

}  // namespace

// Distinguishes this library from NVIDIA's. Returns the name of the simulated driver; null if this library
// forwards its calls to another driver.
const char *cushim_simulated_driver() {
  return library->chosen->path().empty() ? "SIMULATED by cushim" : nullptr;
}
