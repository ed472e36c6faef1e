// SPDX-License-Identifier: Apache-2.0
// Images for tests of textures and surfaces.
#pragma once

#include <array>
#include <bit>
#include <initializer_list>

#include "execute.hpp"

namespace cushim::ptx::testing {

// Elements of one type, and the image of them.
template <class T>
struct Pixels {
  Pixels(std::uint32_t width, std::uint32_t height = 1, std::uint32_t depth = 1, std::uint32_t channels = 1)
      : values(std::size_t{width} * height * depth * channels) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * i % 101);
    image.host = reinterpret_cast<std::byte *>(values.data());
    image.width = width;
    image.height = height;
    image.depth = depth;
    image.row_bytes = std::uint64_t{width} * channels * sizeof(T);
    image.slice_bytes = height * image.row_bytes;
  }
  T at(std::uint32_t x, std::uint32_t y = 0, std::uint32_t z = 0) const {
    return values[(std::size_t{z} * image.height + y) * image.width + x];
  }

  std::vector<T> values;
  Image image;
};

using Words = std::array<std::uint32_t, 4>;

inline std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
inline std::uint32_t bits(int value) { return static_cast<std::uint32_t>(value); }
inline float real(std::uint32_t word) { return std::bit_cast<float>(word); }

// Makes the four words of coordinates of floats and integers.
template <class... T>
Words at(T... coordinates) {
  Words words{};
  std::size_t i = 0;
  ((words[i++] = bits(coordinates)), ...);
  return words;
}

// A kernel that executes a few instructions once for each point. The instructions find the handle in %t, the
// words of the point in %c0 to %c3 and leave their results in %d0 to %d3. %p is a predicate.
class AtPoints {
 public:
  explicit AtPoints(std::string_view body, std::string_view declarations = {})
      : loaded(std::string{header} + std::string{declarations} + R"(
.visible .entry k(.param .u64 handle, .param .u64 in, .param .u64 out) {
  .reg .pred %p; .reg .b16 %h<8>; .reg .b32 %c<4>, %d<4>, %i; .reg .b64 %t, %in, %out, %at, %w<4>;
  ld.param.u64 %t, [handle]; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %i, %tid.x; mul.wide.u32 %at, %i, 16; add.u64 %in, %in, %at; add.u64 %out, %out, %at;
  ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%in];
  mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0;
)" + std::string{body} +
               "\n  st.global.v4.b32 [%out], {%d0, %d1, %d2, %d3};\n  ret;\n}\n") {}

  // Executes it at the points, and expects success.
  std::vector<Words> run(const std::vector<Words> &points) {
    const LaunchResult result = launch(points);
    EXPECT_TRUE(result) << name(result.fault.kind) << " line " << result.fault.line << " "
                        << result.fault.message;
    return loaded.memory.get<Words>(out, points.size());
  }
  Fault fault(const Words &point) { return launch({point}).fault; }

  static constexpr std::uint64_t handle = 0x1234;
  Loaded loaded;

 private:
  LaunchResult launch(const std::vector<Words> &points) {
    EXPECT_EQ(loaded.refused, "");
    const std::uint64_t in = loaded.memory.add(points);
    out = loaded.memory.add(16 * points.size());
    LaunchShape shape;
    shape.block.x = static_cast<std::uint32_t>(points.size());
    return loaded.run("k", shape, handle, in, out);
  }
  std::uint64_t out = 0;
};

}  // namespace cushim::ptx::testing
