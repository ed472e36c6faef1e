// SPDX-License-Identifier: Apache-2.0
// The kinds of memory that a call may be given, for statements that go through all of them.
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

// Memory of a kind, page-aligned; pageable memory lives until the program ends.
CUdeviceptr memory_of(OnDevice &test, Kind kind, std::size_t bytes = 4096);

// Puts bytes there and takes them away, with a plain copy where the host reaches the memory.
void put(Kind kind, CUdeviceptr address, const std::vector<unsigned char> &bytes);
std::vector<unsigned char> take(Kind kind, CUdeviceptr address, std::size_t bytes);

// Bytes of which no two neighbours are alike.
std::vector<unsigned char> pattern(std::size_t bytes, unsigned start = 1);

// Answers by row and column, as numbers; a table is as easy to read as the statement it makes.
struct Row {
  const char *name;
  std::vector<int> codes;
};
inline CUresult code(int number) { return static_cast<CUresult>(number); }

}  // namespace conformance
