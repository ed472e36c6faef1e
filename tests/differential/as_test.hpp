// SPDX-License-Identifier: Apache-2.0
// A walk as C++, for a suite of tests that stands on <program.hpp>.
#pragma once

#include "walk.hpp"

namespace differential {

// What a file of such tests begins with.
std::string head_of_tests();

// A test that makes the calls and expects the answers.
std::string as_test(std::uint64_t seed, std::span<const Step> steps, const std::string &remark);

}  // namespace differential
