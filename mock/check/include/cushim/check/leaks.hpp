// SPDX-License-Identifier: Apache-2.0
// Finds what a program makes and does not end.
//
//   check::Leaks leaks(driver);
//   ...
//   EXPECT_THAT(leaks.finish(), IsEmpty());
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <memory>

namespace cushim::check {

// Contexts, streams, events, arrays, memory pools and modules; memory of a device, managed, pinned,
// registered, stream-ordered; events and memory opened from another process; retained primary contexts. Each
// with the place where it was made. Rules:
//   never-destroyed, never-freed, never-released
//                      alive at finish()
//   gone-with-context  alive when its context was destroyed, or its primary context released for the last
//                      time. One that is reset leaves no leaks.
// What was made before the checker, or past cushim, is not known to it. Asks the driver for the current
// context (cuCtxGetCurrent) when something is made after that may have changed.
class Leaks final : public Checker {
 public:
  // Puts hooks on the driver; throws as mock::Frame::over().
  explicit Leaks(Driver &driver);
  ~Leaks() override;

  std::string_view name() const noexcept override { return "leaks"; }
  std::vector<Finding> findings() const override;
  std::vector<Finding> finish() override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cushim::check
