// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/driver.hpp>

#include <cstdint>

namespace cushim::replay {

// Calls an entry point with arguments in 8-byte words, as in a recording. Returns
// CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND if the CUDA headers lack its types.
CUresult invoke(cushim::Driver &driver, int slot, const std::uint64_t *words);

}  // namespace cushim::replay
