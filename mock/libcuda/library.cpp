// SPDX-License-Identifier: Apache-2.0
// A machine for the life of the process, made when the library is loaded and never ended: programs call the
// driver from their last destructors.
#include <unistd.h>
#include <cushim/sim/machine.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

using namespace cushim::sim;

// As a device does, the machine works beside the program, unless another schedule is asked for.
Options options() { return options_from_environment({.schedule = Schedule::background, .is_library = true}); }

[[gnu::constructor]] void begin() {
  try {
    static Machine &machine = *new Machine(options());
    static cushim::ScopedDriver &scope = *new cushim::ScopedDriver(machine.driver());
    static_cast<void>(scope);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "cushim: SIMULATED libcuda.so.1: %s\n", error.what());
    _exit(2);
  }
}

}  // namespace

// Tells this library from NVIDIA's, and which it is.
extern "C" __attribute__((visibility("default"))) const char *cushim_simulated_driver() {
  return "SIMULATED by cushim";
}
