// SPDX-License-Identifier: Apache-2.0
// A machine for the life of the process, made when the library is loaded and never ended: programs call the
// driver from their last destructors.
#include <unistd.h>
#include <cushim/sim/machine.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "report.hpp"

namespace {

using namespace cushim::sim;

// As a device does, the machine works beside the program, unless another schedule is asked for.
Options options() { return options_from_environment({.schedule = Schedule::background, .is_library = true}); }

struct Library {
  ReportOptions report = report_options_from_environment();
  Machine machine{options()};
  cushim::ScopedDriver scope{machine.driver()};
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
    end_report(library->report, library->machine.usage());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim: SIMULATED libcuda.so.1: %s\n", error.what());
  }
}

}  // namespace

// Tells this library from NVIDIA's, and which it is.
extern "C" __attribute__((visibility("default"))) const char *cushim_simulated_driver() {
  return "SIMULATED by cushim";
}
