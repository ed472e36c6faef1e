// SPDX-License-Identifier: Apache-2.0
// The data of the operations on textures and surfaces.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "execute/texture_sampling.hpp"

namespace cushim::ptx::execute {

// The mipmap level that a fetch reads: the first one that the sampler allows, a given one, or that of
// given derivatives.
enum class LevelOf : std::uint8_t { sampler, operand, gradients };

// The registers that a fetch writes: words, halves of 16 bits, or pairs of halves.
enum class Results : std::uint8_t { words, halves, pairs };

// A coordinate outside a surface: a fault, the nearest element, or 0.
enum class Outside : std::uint8_t { trap, clamp, zero };

// The operands and the variant of an operation. `at` is the first member: the decoder adjusts the offsets in
// it.
struct ImageAccess {
  static constexpr std::uint32_t absent = ~0u;
  // Indices in `at`, which holds the frame offsets of the operands.
  static constexpr unsigned values = 0, coordinates = 4, level = 8, gradients = 9, offsets = 15,
                            resident = 18, count = 19;
  std::array<std::uint32_t, count> at;

  Geometry geometry = Geometry::line;
  // Only for textures.
  bool has_integer_coordinates = false;
  LevelOf level_of = LevelOf::sampler;
  Results results = Results::words;
  bool gathers = false;
  std::uint8_t channel = 0;  // of tld4
  // Only for surfaces.
  Outside outside = Outside::trap;
  bool is_formatted = false;              // .p: coordinates count elements, and values are converted
  std::uint8_t vector = 1;                // values
  std::uint8_t bytes = 4;                 // of a value in the surface
  std::uint8_t register_bytes = 4;        // of a value's register
  std::uint32_t operation = 0, type = 0;  // of a reduction, as in atomics.hpp

  ImageAccess() { at.fill(absent); }
};

// The attributes that txq and suq return, in this order.
inline constexpr std::string_view query_names[] = {"width",
                                                   "height",
                                                   "depth",
                                                   "channel_data_type",
                                                   "channel_order",
                                                   "array_size",
                                                   "num_mipmap_levels",
                                                   "normalized_coords",
                                                   "filter_mode",
                                                   "addr_mode_0",
                                                   "addr_mode_1",
                                                   "addr_mode_2"};

}  // namespace cushim::ptx::execute
