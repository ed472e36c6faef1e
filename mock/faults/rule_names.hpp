// SPDX-License-Identifier: Apache-2.0
// The names in fault rules: functions, patterns of functions, results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cushim::mock {

constexpr std::string_view kErrorPrefix = "CUDA_ERROR_";

// Returns the names of all errors, without the prefix.
const std::vector<std::string> &result_names();

// Returns the base names of all entry points.
const std::vector<std::string> &base_names();

// Returns the slots of the entry points whose base name, or else exact symbol, matches the pattern. In a
// pattern,
// * stands for any characters and ? for one.
std::vector<int> rows_of(std::string_view pattern);

}  // namespace cushim::mock
