// SPDX-License-Identifier: Apache-2.0
// The machine of libcuda.so.1. It is made when the library is loaded and never destroyed: programs call the
// driver from their last destructors.
#include <unistd.h>
#include <cushim/check/checkers.hpp>
#include <cushim/sim/machine.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cushim/detail/inside_call.hpp>
#include <cushim/detail/process_end.hpp>
#include "report.hpp"

namespace {

using namespace cushim::sim;

// By default the machine works in the background, like a device.
Options options_of_library() {
  return options_from_environment({.schedule = Schedule::background, .is_library = true});
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

struct Library {
  ReportOptions report = report_options_from_environment();
  Options options = options_of_library();
  Machine machine{options};
  cushim::ScopedDriver scope{machine.driver()};
  std::unique_ptr<cushim::check::Checkers> checkers = checkers_from_environment(machine.driver());
  pid_t process = getpid();
};

const Library *library;

[[gnu::constructor]] void begin() {
  try {
    library = new Library;
    begin_report(library->report);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim: SIMULATED libcuda.so.1: %s\n", error.what());
    _exit(2);
  }
}

// Time limit of a report if a signal handler called exit() and interrupted a call of the driver.
constexpr auto kPatience = std::chrono::seconds(5);

void report() {
  try {
    std::vector<cushim::check::Finding> findings;
    if (library->checkers != nullptr) findings = library->checkers->finish();
    end_report(library->report, library->machine.usage(), findings);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim: SIMULATED libcuda.so.1: %s\n", error.what());
  }
}

// Reports on another thread, since the interrupted call may hold locks that it never releases.
void report_within_patience() {
  auto reported = std::make_shared<std::promise<void>>();
  const std::future<void> is_reported = reported->get_future();
  std::thread([reported] {
    report();
    reported->set_value();
  }).detach();
  if (is_reported.wait_for(kPatience) == std::future_status::timeout)
    std::fprintf(stderr,
                 "cushim: SIMULATED libcuda.so.1: no report and no findings, because a signal handler called "
                 "exit() inside a driver call\n");
}

// Reports at process end. In a child of fork() the driver does not work, and the counts are those of the
// parent.
[[gnu::destructor]] void end() {
  if (library == nullptr) return;
  if (getpid() != library->process && getpid() != initialized_process()) return;
  const bool has_faults = !library->options.faults.empty();
  if (!library->report.is_wanted() && library->checkers == nullptr && !has_faults) return;
  if (!cushim::mock::is_inside_call()) return report();
  try {
    report_within_patience();
  } catch (const std::exception &) {
    report();  // the system cannot create a thread
  }
}

}  // namespace

// Distinguishes this library from NVIDIA's, and names it.
extern "C" __attribute__((visibility("default"))) const char *cushim_simulated_driver() {
  return "SIMULATED by cushim";
}
