// SPDX-License-Identifier: Apache-2.0
// Parameters of tests that run in several schedules of a simulated driver.
#pragma once

#include <gtest/gtest.h>
#include <cushim/sim/machine.hpp>

#include <string>

namespace cushim::sim {

inline constexpr Schedule kEachSchedule[] = {Schedule::eager, Schedule::deferred, Schedule::seeded,
                                             Schedule::stepped, Schedule::background};
// Without `stepped`, in which only calls of the test run work that no call waits for.
inline constexpr Schedule kSchedulesWithoutSteps[] = {Schedule::eager, Schedule::deferred, Schedule::seeded,
                                                      Schedule::background};

// Names a test by its schedule.
struct ScheduleName {
  std::string operator()(const ::testing::TestParamInfo<Schedule> &info) const {
    return std::string(name_of(info.param));
  }
};

}  // namespace cushim::sim
