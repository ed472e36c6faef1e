// SPDX-License-Identifier: Apache-2.0
// The faces of a cube. CUDA Programming Guide, "Cubemap Textures"; rounding and ties are measured on an H200.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace cushim::ptx::execute {

// A point of a face, with coordinates in [0, 1].
struct FacePoint {
  std::uint32_t face;
  double s, t;
};
// Returns where a direction leaves the cube.
FacePoint face_point(const std::array<float, 3> &direction);

// An element of a face.
struct FaceElement {
  std::uint32_t face;
  std::int64_t x, y;
};
// Returns the element at x, y of a face of `extent` elements, where -1 and `extent` are on the neighbor.
// Returns nothing for those at a corner, where three faces meet.
std::optional<FaceElement> across_faces(std::uint32_t face, std::int64_t x, std::int64_t y,
                                        std::int64_t extent);

}  // namespace cushim::ptx::execute
