// SPDX-License-Identifier: Apache-2.0
// Reads textures at coordinates: CUDA Programming Guide, "Texture Fetching".
#pragma once

#include <array>
#include <cstdint>

#include "execute/texel.hpp"

namespace cushim::ptx::execute {

// The shape of an image, and with it the meaning of coordinates: 1d, 2d, 3d, a1d, a2d, cube, acube.
enum class Geometry : std::uint8_t { line, plane, volume, lines, planes, cube, cubes };

constexpr bool is_layered(Geometry geometry) {
  return geometry == Geometry::lines || geometry == Geometry::planes || geometry == Geometry::cubes;
}
constexpr bool is_cube(Geometry geometry) {
  return geometry == Geometry::cube || geometry == Geometry::cubes;
}
// Returns the number of coordinates without the layer.
constexpr unsigned coordinates_of(Geometry geometry) {
  return geometry == Geometry::line || geometry == Geometry::lines     ? 1
         : geometry == Geometry::plane || geometry == Geometry::planes ? 2
                                                                       : 3;
}

struct SamplePoint {
  Geometry geometry = Geometry::line;
  bool is_integer = false;  // true: `index` is used, false: `position`
  std::array<float, 3> position{};
  std::array<std::int32_t, 3> index{};
  std::array<std::int32_t, 3> offset{};  // in elements
  std::uint32_t layer = 0;               // values above the last layer are clamped to it
};

// Returns the mipmap level for the derivatives of the coordinates in two directions. Anisotropy is not
// applied.
float level_of_gradients(const Texture &texture, const SamplePoint &point,
                         const std::array<std::array<float, 3>, 2> &gradients);

// The level that the compiler passes for fetches without a level or gradients. The sampler's bounds clamp it.
inline constexpr float lowest_level = -32;

// Returns the value at a point. Applies the sampler's bias and bounds to `level`. Equals an H200, except for
// a few sums of floats: see texture_filtering.hpp.
Texel sample(const Texture &texture, const SamplePoint &point, float level);

// Returns the four elements that linear filtering would use, counter-clockwise from the lower left one:
// tld4. For geometries with two coordinates in a layer.
std::array<Texel, 4> gather(const Texture &texture, const SamplePoint &point);

}  // namespace cushim::ptx::execute
