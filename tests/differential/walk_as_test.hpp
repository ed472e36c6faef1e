// SPDX-License-Identifier: Apache-2.0
// Prints a walk as C++ for a test suite that includes <program.hpp>.
#pragma once

#include "walk.hpp"

namespace differential {

// Returns the beginning of a file of such tests.
std::string head_of_tests();

// Returns a test that makes the calls and expects the answers.
std::string as_test(std::uint64_t seed, std::span<const Step> steps, const std::string &remark);

}  // namespace differential
