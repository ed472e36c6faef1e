// SPDX-License-Identifier: Apache-2.0
// Common parts of the statements about batches of copies.
#pragma once

#include <cstddef>
#include <string>

#include "memory_kinds.hpp"

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

// Adds a test of each case with both ABIs. A case changes the prepared arguments of the fixture and has the
// code of the call; `inspect` compares what the batch has written.
template <class Fixture, class Cases, class Inspect>
void add_cases(const char *suite, const Cases &cases, Inspect inspect) {
  for (const auto &each : cases)
    for (const Abi abi : abis)
      add_test<Fixture>(suite, std::string(each.name) + "_" + abi_names[abi], __FILE__, __LINE__,
                        [=](Fixture &t) {
                          if (each.may_fault) CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
                          t.prepare();
                          each.change(t);
                          t.expect(abi, code(each.code));
                          inspect(t, each);
                          EXPECT_VALUE(t.fail_index, index_after(abi, each.fail_index));
                        });
}

}  // namespace conformance
