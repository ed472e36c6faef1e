// SPDX-License-Identifier: Apache-2.0
// When the simulated driver runs the work of streams. Every schedule keeps the order that streams, events
// and synchronization require, and no other.
#pragma once

namespace cushim::sim {

// When and in which order the work of streams runs.
enum class Schedule {
  eager,       // at each call, all work that is ready, in order of submission
  deferred,    // as late as possible: only work that a call waits for; one operation for each query
  seeded,      // a legal order, and an amount at each call, drawn from the seed
  stepped,     // when the test calls Machine::step(), or when a call waits for it
  background,  // on a thread of its own, like a device
};

}  // namespace cushim::sim
