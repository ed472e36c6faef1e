// SPDX-License-Identifier: Apache-2.0
// Programs of two pieces of work that need an order. Each combines a kind of work, a kind of order and a pair
// of streams, and has two versions: planted, with one cuStreamWaitEvent left out, and corrected. They run on
// any driver.
#pragma once

#include <string>
#include <vector>

namespace hazards {

struct Shape {
  int work;     // below kWorks
  int order;    // below kOrders
  int streams;  // below kStreamPairs
};

inline constexpr int kWorks = 18, kOrders = 10, kStreamPairs = 9;

// Returns distinct shapes that cover all kinds of work, all orders and all pairs of streams.
std::vector<Shape> shapes(int count);

// Returns, for example, "set_then_copy__events_over_a_third_stream__blocking_and_non_blocking".
std::string name_of(const Shape &shape);

// Runs the program in the primary context of device 0, which must be current, and waits for its end. Throws
// std::runtime_error if a call fails.
enum class Version { planted, corrected };
void run(const Shape &shape, Version version);

}  // namespace hazards
