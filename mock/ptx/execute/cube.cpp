// SPDX-License-Identifier: Apache-2.0
#include "execute/cube.hpp"

#include <cmath>
#include <cstdlib>

#include "execute/lanes_loop.hpp"
#include "execute/special_functions.hpp"

namespace cushim::ptx::execute {
namespace {

// The parts of a direction along the axes of a face, in [-1, 1] if the direction's largest part is 1.
struct OnFace {
  f32 s, t;
};
OnFace on_face(u32 face, const std::array<f32, 3> &direction) {
  const auto [x, y, z] = direction;
  switch (face) {
    case 0:
      return {-z, -y};
    case 1:
      return {z, -y};
    case 2:
      return {x, z};
    case 3:
      return {x, -z};
    case 4:
      return {x, -y};
    default:
      return {-x, -y};
  }
}

using Lattice = std::array<s64, 3>;

// Returns the center of an element in a lattice whose faces are at `extent` and -`extent`; elements are two
// apart.
Lattice lattice_point(u32 face, s64 x, s64 y, s64 extent) {
  const s64 s = 2 * x + 1 - extent, t = 2 * y + 1 - extent;
  switch (face) {
    case 0:
      return {extent, -t, -s};
    case 1:
      return {-extent, -t, s};
    case 2:
      return {s, extent, t};
    case 3:
      return {s, -extent, -t};
    case 4:
      return {s, -t, extent};
    default:
      return {-s, -t, -extent};
  }
}

FaceElement element_at(const Lattice &point, s64 extent) {
  const auto [x, y, z] = point;
  const auto made = [extent](u32 face, s64 s, s64 t) {
    return FaceElement{face, (s + extent - 1) / 2, (t + extent - 1) / 2};
  };
  if (z == extent) return made(4, x, -y);
  if (z == -extent) return made(5, -x, -y);
  if (y == extent) return made(2, x, z);
  if (y == -extent) return made(3, x, -z);
  return x > 0 ? made(0, -z, -y) : made(1, z, -y);
}

}  // namespace

// The compiler divides by the largest coordinate, with rcp.approx.
FacePoint face_point(const std::array<f32, 3> &direction) {
  const f32 largest =
      std::fmax(std::fmax(std::fabs(direction[0]), std::fabs(direction[1])), std::fabs(direction[2]));
  const f32 factor = reciprocal(largest);
  std::array<f32, 3> scaled{};
  for (unsigned i = 0; i < 3; ++i) scaled[i] = direction[i] * factor;
  const f32 x = std::fabs(scaled[0]), y = std::fabs(scaled[1]), z = std::fabs(scaled[2]);
  const unsigned axis = !(z < x) && !(z < y) ? 2 : !(y < x) ? 1 : 0;
  const u32 face = 2 * axis + (scaled[axis] < 0 ? 1 : 0);
  const OnFace on = on_face(face, scaled);
  const auto half = [](f32 value) { return value == value ? (f64{value} + 1) / 2 : 0.5; };
  return {face, half(on.s), half(on.t)};
}

std::optional<FaceElement> across_faces(u32 face, s64 x, s64 y, s64 extent) {
  const bool leaves_x = x < 0 || x >= extent, leaves_y = y < 0 || y >= extent;
  if (!leaves_x && !leaves_y) return FaceElement{face, x, y};
  if (leaves_x && leaves_y) return std::nullopt;
  Lattice point = lattice_point(face, x, y, extent);
  for (s64 &one : point) {
    const s64 sign = one < 0 ? -1 : 1;
    if (std::abs(one) == extent)
      one = sign * (extent - 1);
    else if (std::abs(one) == extent + 1)
      one = sign * extent;
  }
  return element_at(point, extent);
}

}  // namespace cushim::ptx::execute
