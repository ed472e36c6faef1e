// SPDX-License-Identifier: Apache-2.0
// Answers: what a driver said, kept under the running test's name and a key, so that one driver's
// answers can be written to a file (--write-answers) and another driver judged by it
// (--compare-answers). Give codes, counts and texts; never addresses, times or identities, which no
// two runs share.
#pragma once

#include <cuda.h>

#include <concepts>
#include <string>
#include <string_view>

namespace cushim::testing {

// The code by name and number, "CUDA_ERROR_INVALID_VALUE (1)".
std::string name_of(CUresult code);

namespace detail {
void record(std::string_view key, std::string value);
}

// Each records the value and returns it. A key may come again within a test; the second is kept as
// "key #2". May be called from any thread of the test.
CUresult answer(std::string_view key, CUresult code);
bool answer(std::string_view key, bool value);
std::string answer(std::string_view key, std::string value);

template <std::integral Number>
Number answer(std::string_view key, Number value) {
  detail::record(key, std::to_string(value));
  return value;
}

// An address means nothing in another run.
template <class T>
void answer(std::string_view key, T *value) = delete;
inline std::string answer(std::string_view key, const char *value) { return answer(key, std::string(value)); }

}  // namespace cushim::testing
