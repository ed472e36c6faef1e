// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/driver.hpp>
#include <cushim/where.hpp>

#include <memory>
#include <string_view>

namespace cushim {

namespace check {
class Checkers;
}

namespace testing {

// Fails the test if checkers find a defect in the driver calls made while this object exists:
//
//   TEST(Frames, Arrive_in_order) {
//     const NoFindings none;        // before the objects that make the calls
//     ...
//   }
//
// or as the first member of a fixture. The destructor adds one test failure for each finding, with its
// text, at the line that made this object; also if an exception or a fatal failure ends the test's body.
class NoFindings {
 public:
  // `checkers` is a list of names as for check::Checkers. Throws std::invalid_argument for an unknown name,
  // and as mock::DriverSlot::over().
  explicit NoFindings(std::string_view checkers = "leaks,misuse,hazards,deadlock",
                      Driver &driver = current_driver(), const Where &where = Where::current());
  ~NoFindings();
  NoFindings(const NoFindings &) = delete;
  NoFindings &operator=(const NoFindings &) = delete;

 private:
  const std::unique_ptr<check::Checkers> checkers_;
  const Where where_;
};

}  // namespace testing
}  // namespace cushim
