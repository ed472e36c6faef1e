// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cushim::mock {

// How a kernel accesses the memory at the addresses in a parameter.
enum class ParameterUse : std::uint8_t { unknown, read, write };

}  // namespace cushim::mock
