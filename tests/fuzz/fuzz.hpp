// SPDX-License-Identifier: Apache-2.0
// What every target shares. A target reads bytes as cushim would that come from outside: a refusal in words
// is an answer; a crash, a leak, undefined behaviour, an endless loop and a broken promise are findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// Each target defines it; libFuzzer, or main.cpp, calls it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace fuzz {

inline std::string_view text_of(const std::uint8_t *data, std::size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

// What must hold whatever the bytes are.
inline void promise(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace fuzz
