// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "execute/warp.hpp"

// The video instructions: arithmetic on selected bytes and half words of 32-bit registers.
namespace cushim::ptx::execute {

enum class VideoOperation : std::uint8_t {
  add,
  subtract,
  difference,
  min,
  max,
  left,
  right,
  set,
  average,
  multiply
};
enum class VideoSecond : std::uint8_t { none, add, min, max };

struct Video {
  VideoOperation operation = VideoOperation::add;
  VideoSecond second = VideoSecond::none;
  std::uint8_t parts = 1;  // 2: half words, 4: bytes
  bool signed_d = false, signed_a = false, signed_b = false;
  bool saturate = false, wrap = false, plus_one = false;
  bool negated_a = false, negated_b = false, negated_c = false;
  std::uint8_t shift = 0;                                  // of vmad
  std::uint8_t comparison = 0;                             // of vset: eq ne lt le gt ge
  std::uint8_t kind_a = 0, kind_b = 0, kind_d = 0;         // 'b', 'h', 0: the whole register
  std::uint32_t digits_a = 0, digits_b = 0, digits_d = 0;  // selectors, four bits each, lowest part first
  std::uint8_t count_d = 0;
};

// a, b, c: operands, d: result; data: Video
const Op *video(Warp &, const Op *);

}  // namespace cushim::ptx::execute
