// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cushim::ptx {

// A kernel's kind of access to memory.
enum class Access { read, write, atomic };

}  // namespace cushim::ptx
