// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cushim::sim {

// Counts its own lifetime in a counter, such as the number of waiting threads.
struct Counted {
  explicit Counted(int &count) : count(count) { ++count; }
  ~Counted() { --count; }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
  int &count;
};

}  // namespace cushim::sim
