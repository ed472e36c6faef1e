// SPDX-License-Identifier: Apache-2.0
// Finds objects that a program creates and does not destroy.
//
//   check::Leaks leaks(driver);
//   ...
//   EXPECT_THAT(leaks.finish(), IsEmpty());
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

namespace cushim::check {

// Tracks contexts, streams, events, arrays, memory pools, modules, graphs, user objects and captures; device,
// managed, pinned, registered and stream-ordered memory; events and memory opened from another process;
// retained primary contexts. Each finding has the call stack of the creation. Rules:
//   never-destroyed, never-freed, never-released
//                      alive at finish()
//   capture-not-ended  a stream began a capture and did not end it before finish(), or before the stream or
//   its
//                      context was destroyed
//   capture-not-joined a capture ended while streams that took part in it had work that it did not wait for
//   gone-with-context  alive when its context was destroyed, or its primary context released for the last
//                      time. Resetting a primary context reports no leaks.
// Does not see objects that are older than the checker or that bypass cushim. Calls cuCtxGetCurrent when an
// object is created after the current context may have changed.
class Leaks final : public StatefulChecker {
 public:
  // Installs hooks on the driver. Throws as mock::DriverSlot::over().
  explicit Leaks(Driver &driver);
};

}  // namespace cushim::check
