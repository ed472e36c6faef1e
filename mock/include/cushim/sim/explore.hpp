// SPDX-License-Identifier: Apache-2.0
// Runs code under many of the schedules that its streams and events allow, to find missing synchronization.
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

// A run that failed.
struct FailingSchedule {
  Options options;    // options of its machine; the same options reproduce the run
  std::string why;    // message of the exception that the body threw; empty if it returned false
  std::string order;  // Machine::order() at that time

  // Returns a description, and how to repeat this run alone.
  std::string text() const;
};

// Runs the body with the schedules eager and deferred and with the seeds 1 to `seeds`, each on a new
// machine with these options whose driver is current during the run. Objects that the body makes must not
// outlive its run. A run fails if the body returns false or throws. Stops at the first failing run, writes
// its text() to stderr and returns it. If CUSHIM_SCHEDULE or CUSHIM_SEED is set, makes only one run, with
// those values. Throws as options_from_environment() and Machine.
std::optional<FailingSchedule> explore(int seeds, const std::function<bool(Machine &)> &body,
                                       const Options &options = {});

}  // namespace cushim::sim
