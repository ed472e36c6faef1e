// SPDX-License-Identifier: Apache-2.0
// The tensor maps of the simulated driver.
#pragma once

#include <array>
#include <cstdint>

namespace cushim::ptx {

// The content of a CUtensorMap that cuTensorMapEncodeTiled() and its siblings of the simulated driver write,
// and that the PTX executor reads. It is an encoding of our own: the bytes that a GPU expects are not
// documented, and differ. Enumerations have the values of cuda.h; the meaning of the fields is that of the
// parameters of cuTensorMapEncodeTiled() and cuTensorMapEncodeIm2col().
struct TensorMap {
  static constexpr std::uint32_t expected_tag = 0x4d545343;  // "CSTM"

  // The call that wrote it.
  enum class Mode : std::uint8_t { tiled, im2col, im2col_wide };

  std::uint32_t tag = expected_tag;  // other values: not a tensor map of the simulated driver
  Mode mode = Mode::tiled;
  std::uint8_t data_type = 0;   // CUtensorMapDataType
  std::uint8_t rank = 0;        // number of dimensions, 1 to 5
  std::uint8_t interleave = 0;  // CUtensorMapInterleave
  std::uint8_t swizzle = 0;     // CUtensorMapSwizzle
  std::uint8_t l2_promotion = 0;
  std::uint8_t fill = 0;                  // CUtensorMapFloatOOBfill
  std::uint8_t wide_mode = 0;             // CUtensorMapIm2ColWideMode
  std::array<std::uint16_t, 2> pixels{};  // im2col: channels per pixel, pixels per column
  std::uint64_t address = 0;
  std::array<std::uint64_t, 4> strides{};  // in bytes, of the dimensions 1 to rank - 1
  std::array<std::uint32_t, 5>
      last{};  // of each dimension: its number of elements - 1, the first varies fastest
  std::array<std::uint16_t, 5> box{};  // tiled
  std::array<std::uint8_t, 5> element_strides{};
  std::uint8_t reserved = 0;
  std::array<std::int16_t, 3> lower_corner{}, upper_corner{};  // im2col
  std::array<std::uint32_t, 6> unused{};
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace cushim::ptx
