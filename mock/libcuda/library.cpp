// SPDX-License-Identifier: Apache-2.0
// A machine for the life of the process, made when the library is loaded and never ended: programs call the
// driver from their last destructors.
#include <unistd.h>
#include <cushim/check/checkers.hpp>
#include <cushim/sim/machine.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "report.hpp"

namespace {

using namespace cushim::sim;

// As a device does, the machine works beside the program, unless another schedule is asked for.
Options options() { return options_from_environment({.schedule = Schedule::background, .is_library = true}); }

// CUSHIM_CHECK: the checkers that are on. Null if there is none, and then no call goes by one.
std::unique_ptr<cushim::check::Checkers> checkers_from_environment(cushim::Driver &driver) {
  const char *const words = std::getenv("CUSHIM_CHECK");
  if (words == nullptr || *words == '\0') return nullptr;
  try {
    return std::make_unique<cushim::check::Checkers>(driver, words);
  } catch (const std::invalid_argument &error) {
    throw std::invalid_argument(std::string("CUSHIM_CHECK: ") + error.what());
  }
}

struct Library {
  ReportOptions report = report_options_from_environment();
  Machine machine{options()};
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

// In a child of fork() the driver does not work, and the counts are those of the parent.
[[gnu::destructor]] void end() {
  if (library == nullptr || getpid() != library->process) return;
  try {
    std::vector<cushim::check::Finding> findings;
    if (library->checkers != nullptr) findings = library->checkers->finish();
    end_report(library->report, library->machine.usage(), findings);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim: SIMULATED libcuda.so.1: %s\n", error.what());
  }
}

}  // namespace

// Tells this library from NVIDIA's, and which it is.
extern "C" __attribute__((visibility("default"))) const char *cushim_simulated_driver() {
  return "SIMULATED by cushim";
}
