// SPDX-License-Identifier: Apache-2.0
// The kinds of memory that a call may receive, for statements that test all of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "conformance.hpp"

namespace conformance {

enum class Kind { device, managed, pinned, registered, pageable };
inline constexpr std::array kinds = {Kind::device, Kind::managed, Kind::pinned, Kind::registered,
                                     Kind::pageable};
const char *name_of(Kind kind);

// Returns page-aligned memory of a kind. Pageable memory exists until the program ends.
CUdeviceptr memory_of(OnDevice &test, Kind kind, std::size_t bytes = 4096);

// Write and read the bytes of memory, with a plain copy if the host can access it.
void put(Kind kind, CUdeviceptr address, const std::vector<unsigned char> &bytes);
std::vector<unsigned char> take(Kind kind, CUdeviceptr address, std::size_t bytes);

// Returns bytes of which no two neighbours are equal.
std::vector<unsigned char> pattern(std::size_t bytes, unsigned start = 1);

// Result codes by row and column, as numbers.
struct Row {
  const char *name;
  std::vector<int> codes;
};
inline CUresult code(int number) { return static_cast<CUresult>(number); }

}  // namespace conformance
