// SPDX-License-Identifier: Apache-2.0
// Processes of this machine, as far as they share memory and events with this one.
#pragma once

#include <cstdint>

namespace cushim::sim {

// A process, told from all others that had its number or will have it.
struct Process {
  std::int64_t id = 0;
  std::uint64_t start = 0;  // in clock ticks since the machine was started

  static Process self();

  // False for one that was killed and not yet waited for, too.
  bool is_alive() const;

  bool operator==(const Process &) const = default;
};

// The namespace that this process's number is valid in.
std::uint64_t process_namespace();

}  // namespace cushim::sim
