// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/registered.hpp"

namespace cushim::sim {

// Opens libraries of kernels (cushim/sim/kernels.h), separated by colons, and returns what they register.
// They stay open. Throws std::invalid_argument if one cannot be opened or registers no kernels.
RegisteredKernels kernels_of_libraries(const std::string &libraries);

}  // namespace cushim::sim
