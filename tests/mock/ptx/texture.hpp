// SPDX-License-Identifier: Apache-2.0
// Fetches of textures for tests.
#pragma once

#include "images.hpp"

namespace cushim::ptx::testing {

inline constexpr TexelFormat floats{ChannelType::f32, 1, false};

inline Texture texture(const Image &image, TexelFormat format = floats) {
  Texture made;
  made.format = format;
  made.levels = {image};
  return made;
}

inline std::vector<Words> fetch(std::string_view instruction, const Texture &texture,
                                const std::vector<Words> &points) {
  AtPoints kernel(instruction);
  kernel.loaded.memory.textures[AtPoints::handle] = texture;
  return kernel.run(points);
}

// Returns the first words as floats.
inline std::vector<float> reals(const std::vector<Words> &all) {
  std::vector<float> made;
  for (const Words &one : all) made.push_back(real(one[0]));
  return made;
}

inline constexpr std::string_view kLine = "tex.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0}];";

}  // namespace cushim::ptx::testing
