// SPDX-License-Identifier: Apache-2.0
// Records what a driver returned, under the name of the running test and a key. The answers of one driver
// can be written to a file (--write-answers) and those of another compared with them (--compare-answers).
// Record codes, counts and text; never addresses, times or identities, which differ between runs.
#pragma once

#include <cuda.h>

#include <concepts>
#include <string>
#include <string_view>

namespace cushim::testing {

// Returns the name and number of the code: "CUDA_ERROR_INVALID_VALUE (1)".
std::string name_of(CUresult code);

namespace detail {
void record(std::string_view key, std::string value);
}

// Records the value and returns it. A repeated key within a test is kept as "key #2". Call from any thread
// of the test.
CUresult answer(std::string_view key, CUresult code);
bool answer(std::string_view key, bool value);
std::string answer(std::string_view key, std::string value);

// Records an integer and returns it.
template <std::integral Number>
Number answer(std::string_view key, Number value) {
  detail::record(key, std::to_string(value));
  return value;
}

// Addresses cannot be recorded: they differ between runs.
template <class T>
void answer(std::string_view key, T *value) = delete;
inline std::string answer(std::string_view key, const char *value) { return answer(key, std::string(value)); }

}  // namespace cushim::testing
