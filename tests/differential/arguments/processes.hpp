// SPDX-License-Identifier: Apache-2.0
// Runs cases in child processes, so that a case that crashes, hangs or leaves a context with an error ends
// alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cases.hpp"

namespace arguments {

struct ProcessOptions {
  std::string driver = "sim";
  unsigned processes = 1;
  double longest = 2;  // seconds after which the process of a case is killed
  double seconds = 0;  // after which no more cases begin, unless 0
};

struct Answers {
  std::string about;               // the driver and the device
  std::vector<std::string> texts;  // by the index of the case, empty if it has not run; "crash" and "hang"
                                   // are answers
};

// Runs the cases with these indices. They begin in this order; an idle process takes the next case.
// Throws std::runtime_error if processes repeatedly fail outside of a case, as without a driver.
Answers answers_of(const std::vector<std::size_t> &indices, const ProcessOptions &options);

}  // namespace arguments
