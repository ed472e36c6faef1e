// SPDX-License-Identifier: Apache-2.0
// Runs a piece of a program in many orders that its streams and events allow, to find the order that it
// forgot to ask for.
//
//   const bool found = explore(100, [](sim::Machine &machine) { ...; return result == 42; }).has_value();
//
// In a GoogleTest test: cushim/sim/gtest.hpp.
#pragma once

#include <cushim/sim/machine.hpp>

#include <functional>
#include <optional>
#include <string>

namespace cushim::sim {

// A run in which the body failed.
struct Failing {
  Options options;    // of its machine: make the same again to see the same
  std::string why;    // what the body threw; empty if it returned false
  std::string order;  // the machine's at that time

  // All of it in words, and how to run it alone.
  std::string text() const;
};

// Runs the body with the schedules eager and deferred and with the seeds 1 to `seeds`, each on a new machine
// of these options whose driver is current meanwhile; what the body makes must not outlive its run. It fails
// by returning false or throwing. Stops at the first failing run, says its text() on stderr and returns it.
// Where CUSHIM_SCHEDULE or CUSHIM_SEED is set, one run with these and no other. Throws what
// options_from_environment() and Machine throw.
std::optional<Failing> explore(int seeds, const std::function<bool(Machine &)> &body,
                               const Options &options = {});

}  // namespace cushim::sim
