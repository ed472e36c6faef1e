// SPDX-License-Identifier: Apache-2.0
// Records the program of the page before its test runs.
#include <gtest/gtest.h>
#include <cushim/replay/recorder.hpp>
#include <cushim/sim/machine.hpp>

int run_program();

namespace {

class Recording final : public testing::Environment {
  void SetUp() override {
    const cushim::sim::Machine machine;
    const cushim::ScopedDriver scope(machine.driver());
    const cushim::replay::Recorder recorder(machine.driver(), "program.record");
    EXPECT_EQ(run_program(), 42);
  }
};

[[maybe_unused]] const auto *const recording = testing::AddGlobalTestEnvironment(new Recording);

}  // namespace
