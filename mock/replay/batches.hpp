// SPDX-License-Identifier: Apache-2.0
// The operands of cuMemcpyBatchAsync: arrays of addresses, of devices or of the host.
#pragma once

#include <cushim/driver.hpp>

#include <cstddef>
#include <string_view>

#include "type.hpp"

namespace cushim::replay {

// Returns whether an argument is the array of the addresses that the calls of an entry point read, or write.
inline bool is_array_of_batch(int slot, std::size_t argument, std::string_view array) {
  return std::string_view(cushim_entry(slot)->base) == "cuMemcpyBatchAsync" &&
         trace::row_of(slot).parameters[argument].name == array;
}
inline bool is_source_of_batch(int slot, std::size_t argument) {
  return is_array_of_batch(slot, argument, "srcs");
}
inline bool is_destination_of_batch(int slot, std::size_t argument) {
  return is_array_of_batch(slot, argument, "dsts");
}

// cuMemcpyBatchAsync(dsts, srcs, sizes, count, ...)
inline constexpr std::size_t kSizesOfBatch = 2;

}  // namespace cushim::replay
