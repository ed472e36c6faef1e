// SPDX-License-Identifier: Apache-2.0
// Recognizes cushim's own libcuda.so.1.
#pragma once

#include <optional>
#include <string>

namespace cushim::command {

// Returns what a loaded library says of itself: nullopt if it is not cushim's libcuda.so.1, the name of the
// simulated driver if it simulates, an empty text if it forwards its calls to another driver.
std::optional<std::string> simulated_driver(const std::string &path);

}  // namespace cushim::command
