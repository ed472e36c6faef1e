// SPDX-License-Identifier: Apache-2.0
// Answers programs from recordings of others.
#pragma once

#include <cushim/replay/driver.hpp>
#include <cushim/replay/gtest.hpp>

#include <utility>

#include "recorded.hpp"

namespace cushim::test {

class DriverOfRecording : public Recorded {
 protected:
  // Records a program on the simulated driver and answers it from the recording.
  void expect_equal(const Program &program) {
    replay::Driver driver(replay::Recording::read(record(program)));
    program(driver);
    EXPECT_EQ(driver.calls_left(), 0U);
    EXPECT_FALSE(driver.deviation());
  }

  // Answers another program from the recording of this one, and returns the deviation.
  replay::Deviation deviation_of(const Program &recorded, const Program &given,
                                 replay::DriverOptions options = {},
                                 RecordData data = replay::RecordData::full) {
    int reports = 0;
    options.on_deviation = [&](const replay::Deviation &) { ++reports; };
    replay::Driver driver(replay::Recording::read(record(recorded, data)), std::move(options));
    given(driver);
    EXPECT_EQ(reports, 1);
    return driver.deviation().value_or(replay::Deviation{});
  }
};

}  // namespace cushim::test
