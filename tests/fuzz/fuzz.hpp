// SPDX-License-Identifier: Apache-2.0
// Shared by all targets. A target feeds untrusted bytes to cushim. An error with a message is a valid result;
// a crash, a leak, undefined behaviour, an endless loop and a broken promise are findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// Defined by each target; called by libFuzzer or main.cpp.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace fuzz {

inline std::string_view text_of(const std::uint8_t *data, std::size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

// Checks a condition that must hold for every input.
inline void promise(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace fuzz
