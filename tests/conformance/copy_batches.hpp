// SPDX-License-Identifier: Apache-2.0
// Common parts of the statements about batches of copies.
#pragma once

#include <cstddef>

#include "conformance.hpp"

namespace conformance {

// Only the first ABI has a place for the index of the copy in error.
enum Abi { first_abi, second_abi };
inline constexpr Abi abis[] = {first_abi, second_abi};
inline constexpr const char *abi_names[] = {"of_12080", "of_13000"};

inline constexpr std::size_t kUntouched = 77;  // the index before the call
inline constexpr std::size_t kNotOne =
    ~std::size_t{};  // no copy is in error, or the error is not of one copy

// Returns the index after a call that writes `written` if it has a place.
constexpr std::size_t index_after(Abi abi, std::size_t written) {
  return abi == first_abi ? written : kUntouched;
}

}  // namespace conformance
