// SPDX-License-Identifier: Apache-2.0
// Programs of two pieces of work that need an order, put together from parts: what the work is, how the order
// is made, and which streams it is in. Each comes as a pair: planted, with one cuStreamWaitEvent left out,
// and corrected. They run on any driver.
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

// Different shapes, all works, orders and pairs of streams among them.
std::vector<Shape> shapes(int count);

// "set_then_copy__events_over_a_third_stream__blocking_and_non_blocking".
std::string name_of(const Shape &shape);

// Runs the program in the primary context of device 0, which must be current, and waits for its end. A call
// that fails is a std::runtime_error.
enum class Version { planted, corrected };
void run(const Shape &shape, Version version);

}  // namespace hazards
