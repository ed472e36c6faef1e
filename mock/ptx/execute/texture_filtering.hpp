// SPDX-License-Identifier: Apache-2.0
// Weights and sums of linear filters, as an H200 computes them, but for 0.1 % of the sums of floats in
// volumes and between levels. The rules are measured: see tests/mock/ptx/launches.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/texel.hpp"

namespace cushim::ptx::execute {

inline constexpr std::uint32_t full_weight = 256;  // a weight of 1

// Splits a weight between two slices; rounds the second one to nearest, halves down.
constexpr std::array<std::uint32_t, 2> split_down(std::uint32_t weight, std::uint32_t second) {
  const std::uint32_t part = (weight * second + full_weight / 2 - 1) / full_weight;
  return {weight - part, part};
}

// Splits a weight between the four elements of a plane, x first. `missing`: the element that the corner of a
// cube lacks, or 4.
std::array<std::uint32_t, 4> shares_of(std::uint32_t weight, std::uint32_t x, std::uint32_t y,
                                       unsigned missing);

// Divides the weight of an element that the corner of a cube lacks among the three others.
std::array<std::uint32_t, 4> without_missing(std::array<std::uint32_t, 4> shares, unsigned missing);

// A sum of texels with weights, whose sum is full_weight.
class Blend {
 public:
  explicit Blend(const Texture &texture) : texture_(texture) {}
  // Adds up to four elements of a plane. `read`: has a bit for each element between which the filter
  // interpolates. An element whose weight is rounded to 0 has an effect only if it is NaN.
  void add(const std::array<Texel, 4> &elements, const std::array<std::uint32_t, 4> &weights,
           std::uint32_t read);
  Texel result() const;

 private:
  // A partial sum: the elements are cut off at a bit below the exponent of the largest one.
  struct Partial {
    double sum = -0.0;  // a sum of negative zeros is negative
    int exponent = 0;
  };
  // How the elements of a channel are summed. `color`: colors of sRGB. `signed_integer`, `unsigned_integer`:
  // integers that are read as such.
  enum class Arithmetic : std::uint8_t {
    f16,
    f32,
    color,
    unsigned16,
    signed16,
    signed8,
    signed_integer,
    unsigned_integer
  };
  Arithmetic arithmetic(unsigned channel) const;
  // Integers of 8 and 16 bits are rounded to nearest, those of 32 bits down.
  double rounding_of_integers() const;
  struct FloatFormat;
  // Returns null for integers.
  static const FloatFormat *float_format(Arithmetic kind);

  const Texture &texture_;
  std::array<std::vector<Partial>, 4> partial_;
};

}  // namespace cushim::ptx::execute
