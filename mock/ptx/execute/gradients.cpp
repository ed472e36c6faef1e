// SPDX-License-Identifier: Apache-2.0
// Computes mipmap levels from derivatives of coordinates. Compared with an H200 (tests/mock/ptx/launches):
// the levels of one derivative are equal; 0.5 % of those of two arbitrary derivatives differ, and more in
// cubemaps.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "execute/cube.hpp"
#include "execute/lanes_loop.hpp"
#include "execute/special_functions.hpp"
#include "execute/texture_sampling.hpp"

namespace cushim::ptx::execute {
namespace {

using Vector = std::array<f64, 3>;

// Returns the binary logarithm, rounded to 1/256 as an H200 does: from a table indexed by the upper 8 bits of
// the mantissa, with the logarithm of the middle of each step. Measured: the steps in `lower` have 1/256
// less.
f64 logarithm(f64 length) {
  constexpr int steps = 256;
  static const std::array<int, steps> table = [] {
    std::array<int, steps> made{};
    for (int i = 0; i < steps; ++i)
      made[static_cast<std::size_t>(i)] =
          static_cast<int>(std::nearbyint(std::log2(1 + (i + 0.5) / steps) * steps));
    constexpr std::array<std::size_t, 14> lower{0,   61,  86,  108, 109, 110, 111,
                                                115, 116, 117, 141, 162, 170, 255};
    for (const std::size_t i : lower) --made[i];
    return made;
  }();
  const int exponent = std::ilogb(length);
  const auto step = static_cast<std::size_t>((std::ldexp(length, -exponent) - 1) * steps);
  return exponent + f64(table[step]) / steps;
}

// The bits of a length below its leading bit.
constexpr int fraction_bits = 9;

// Returns the value of the last bit of a length.
f64 unit_of(f64 value) { return std::ldexp(1.0, std::ilogb(value) - fraction_bits); }

bool is_number(f64 value) { return value != 0 && std::isfinite(value); }

f64 cut_off(f64 value) {
  return is_number(value) ? std::trunc(value / unit_of(value)) * unit_of(value) : value;
}

// Returns the derivative in elements. Sums the derivative shifted for each bit of the extent, with 3 more
// bits, and rounds up.
f64 step_of(f32 derivative, u32 extent) {
  if (!is_number(derivative)) return derivative;
  const f64 unit = unit_of(derivative), significand = std::floor(std::fabs(derivative) / unit);
  const int last = std::bit_width(extent) - 1;
  f64 eighths = 0;
  for (int shift = 0; shift <= last; ++shift)
    if ((extent >> (last - shift) & 1) != 0) eighths += std::floor(std::ldexp(significand, 3 - shift));
  return std::copysign(std::ldexp(std::ceil(eighths / 8) * unit, last), f64{derivative});
}

// Returns 11/16 of a value, rounded to 10 bits: an approximation of the value times the square root of 1/2.
f64 shortened(f64 value) {
  value = cut_off(value);
  if (!is_number(value)) return value;
  const f64 unit = unit_of(value) / 2, significand = std::fabs(value) / unit;
  return std::copysign(std::floor((11 * significand + 8) / 16) * unit, value);
}

// Returns an approximation of the length: the largest component + 11/32 of the second + 1/4 of the third.
f64 length_of(Vector parts) {
  for (f64 &part : parts) part = std::fabs(cut_off(part));
  std::sort(parts.begin(), parts.end(), [](f64 a, f64 b) { return a > b; });
  if (!is_number(parts[0])) return parts[0];
  f64 others = 0;
  if (parts[1] > 0) {
    const f64 unit = unit_of(parts[1]);
    others = std::floor((11 * parts[1] / unit + 8 * std::floor(parts[2] / unit) + 4) / 32) * unit;
  }
  const f64 unit = unit_of(parts[0]);
  return parts[0] + std::floor(others / unit) * unit;
}

// Scales a direction so that the largest magnitude of a component is 1: a point on the cube.
std::array<f32, 3> on_cube(const std::array<f32, 3> &direction) {
  f32 largest = 0;
  for (const f32 part : direction) largest = std::fmax(largest, std::fabs(part));
  const f32 factor = reciprocal(largest);
  return {direction[0] * factor, direction[1] * factor, direction[2] * factor};
}

// Returns the axis of the largest magnitude, the last one of equal ones.
unsigned largest_axis(const std::array<f32, 3> &direction) {
  unsigned found = 0;
  for (unsigned axis = 1; axis < 3; ++axis)
    if (std::fabs(direction[axis]) >= std::fabs(direction[found])) found = axis;
  return found;
}

// Returns how far a derivative moves a direction on the cube. Beyond an edge, the next face continues the
// plane.
std::array<f32, 3> moved_on_cube(const std::array<f32, 3> &direction, const std::array<f32, 3> &derivative) {
  std::array<f32, 3> there{}, way{};
  for (unsigned axis = 0; axis < 3; ++axis) there[axis] = direction[axis] + derivative[axis];
  const std::array<f32, 3> to = on_cube(there), from = on_cube(direction);
  for (unsigned axis = 0; axis < 3; ++axis) way[axis] = to[axis] - from[axis];
  const unsigned old_axis = largest_axis(from), new_axis = largest_axis(to);
  if (old_axis != new_axis) {
    way[new_axis] = std::copysign(std::fabs(way[new_axis]) + std::fabs(way[old_axis]), to[new_axis]);
    way[old_axis] = 0;
  }
  return way;
}

}  // namespace

float level_of_gradients(const Texture &texture, const SamplePoint &point,
                         const std::array<std::array<float, 3>, 2> &gradients) {
  const Image &image = texture.levels.front();
  const std::array<u32, 3> extents{image.width, image.height, image.depth};
  std::array<Vector, 2> steps{};
  for (unsigned i = 0; i < 2; ++i) {
    const std::array<f32, 3> &gradient = gradients[i];
    if (is_cube(point.geometry)) {
      const std::array<f32, 3> moved = moved_on_cube(point.position, gradient);
      for (unsigned axis = 0; axis < 3; ++axis) steps[i][axis] = step_of(moved[axis], image.width) / 2;
    } else {
      for (unsigned axis = 0; axis < coordinates_of(point.geometry); ++axis)
        steps[i][axis] = step_of(gradient[axis], texture.sampler.is_normalized ? extents[axis] : 1);
    }
  }
  // Approximates the larger axis of the ellipse that both steps span.
  Vector sum{}, difference{};
  for (unsigned axis = 0; axis < 3; ++axis) {
    sum[axis] = shortened(steps[0][axis] + steps[1][axis]);
    difference[axis] = shortened(steps[0][axis] - steps[1][axis]);
  }
  const f64 longest =
      std::max({length_of(steps[0]), length_of(steps[1]), length_of(sum), length_of(difference)});
  if (longest == 0) return lowest_level;
  return std::isfinite(longest) ? static_cast<f32>(logarithm(longest)) : std::numeric_limits<f32>::infinity();
}

}  // namespace cushim::ptx::execute
