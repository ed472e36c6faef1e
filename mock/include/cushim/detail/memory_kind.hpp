// SPDX-License-Identifier: Apache-2.0
// The kinds of memory that the driver manages, for the checkers' model and for the simulated driver.
#pragma once

#include <cstdint>

namespace cushim {

enum class MemoryKind : std::uint8_t { device, pinned, registered, managed };

}  // namespace cushim
