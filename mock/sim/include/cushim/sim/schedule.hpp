// SPDX-License-Identifier: Apache-2.0
// When the simulated driver runs the work of its streams. Every schedule keeps the order that streams,
// events and synchronization ask for, and no other.
#pragma once

namespace cushim::sim {

enum class Schedule {
  eager,       // all that can run, at each call, in order of submission
  deferred,    // as late as possible: only what somebody waits for; one operation a query
  seeded,      // a legal order drawn from the seed; as much at each call as the seed says
  stepped,     // when the test says so (Machine::step), or when somebody waits for it
  background,  // on a thread of its own, as a device does
};

}  // namespace cushim::sim
