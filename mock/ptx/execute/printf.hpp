// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "execute/warp.hpp"

namespace cushim::ptx::execute {

// Reads a string that ends with 0. Returns false after a fault.
bool read_text(Warp &, const Op *, unsigned lane, std::uint64_t address, std::string &text);

// Formats as printf() does on a GPU. `arguments`: consecutive values, each aligned to its size. Returns false
// after a fault.
bool format_text(Warp &, const Op *, unsigned lane, const std::string &format, std::uint64_t arguments,
                 std::string &out, std::int64_t &count);

}  // namespace cushim::ptx::execute
