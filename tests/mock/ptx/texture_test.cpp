// SPDX-License-Identifier: Apache-2.0
// Texture fetches, compared with the formulas of the CUDA Programming Guide, "Texture Fetching", and with
// what an H200 returns.
#include <cmath>

#include "texture.hpp"

namespace cushim::ptx {
namespace {

using testing::at;
using testing::AtPoints;
using testing::bits;
using testing::fetch;
using testing::floats;
using testing::kLine;
using testing::Pixels;
using testing::reals;
using testing::texture;
using testing::Words;

constexpr std::string_view kPlane = "tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}];";
constexpr std::string_view kLineOfIntegers = "tex.1d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%t, {%c0}];";
constexpr std::string_view kPlaneOfIntegers = "tex.2d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}];";
constexpr std::string_view kVolume = "tex.3d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1, %c2, %c3}];";

TEST(Texture, A_point_fetch_reads_the_element_that_contains_the_coordinate) {
  const Pixels<float> line(8);
  EXPECT_EQ(reals(fetch(kLine, texture(line.image), {at(0.0f), at(2.0f), at(2.99f), at(7.5f)})),
            (std::vector{line.at(0), line.at(2), line.at(2), line.at(7)}));
}

TEST(Texture, Normalized_coordinates_span_the_extent) {
  const Pixels<float> line(8);
  Texture one = texture(line.image);
  one.sampler.is_normalized = true;
  EXPECT_EQ(reals(fetch(kLine, one, {at(0.0f), at(0.5f), at(0.99f)})),
            (std::vector{line.at(0), line.at(4), line.at(7)}));
}

TEST(Texture, The_address_mode_decides_about_coordinates_outside) {
  const Pixels<float> line(4);
  Texture one = texture(line.image);
  one.sampler.is_normalized = true;
  one.sampler.border = at(55.0f);
  const std::vector<Words> points{at(-0.25f), at(1.0f), at(1.3f), at(2.3f)};
  const auto by = [&](AddressMode mode) {
    one.sampler.address[0] = mode;
    return reals(fetch(kLine, one, points));
  };
  EXPECT_EQ(by(AddressMode::clamp), (std::vector{line.at(0), line.at(3), line.at(3), line.at(3)}));
  EXPECT_EQ(by(AddressMode::wrap), (std::vector{line.at(3), line.at(0), line.at(1), line.at(1)}));
  EXPECT_EQ(by(AddressMode::mirror), (std::vector{line.at(0), line.at(3), line.at(2), line.at(1)}));
  EXPECT_EQ(by(AddressMode::border), (std::vector{55.0f, 55.0f, 55.0f, 55.0f}));
}

TEST(Texture, Wrap_is_clamp_without_normalized_coordinates) {
  const Pixels<float> line(4);
  Texture one = texture(line.image);
  one.sampler.address.fill(AddressMode::wrap);
  EXPECT_EQ(reals(fetch(kLine, one, {at(-3.0f), at(5.0f)})), (std::vector{line.at(0), line.at(3)}));
}

// Returns the coordinate's first element, and the weight of the second with 8 fractional bits.
std::pair<int, double> filtered(double x) {
  const double centered = x - 0.5, whole = std::floor(centered);
  return {static_cast<int>(whole), std::round((centered - whole) * 256) / 256};
}

TEST(Texture, Linear_filtering_of_a_plane_blends_four_elements) {
  const Pixels<float> plane(5, 4);
  Texture one = texture(plane.image);
  one.sampler.is_linear = true;
  const auto element = [&](int x, int y) {
    return double{plane.at(static_cast<std::uint32_t>(std::clamp(x, 0, 4)),
                           static_cast<std::uint32_t>(std::clamp(y, 0, 3)))};
  };
  std::vector<Words> points;
  std::vector<float> expected;
  for (const float y : {-1.0f, 0.25f, 1.5f, 2.125f, 3.9f})
    for (const float x : {-0.5f, 0.1f, 0.5f, 1.7f, 4.999f, 9.0f}) {
      points.push_back(at(x, y));
      const auto [i, a] = filtered(x);
      const auto [j, b] = filtered(y);
      const double both = std::round(a * b * 256) / 256;
      expected.push_back(static_cast<float>((1 - a - b + both) * element(i, j) +
                                            (a - both) * element(i + 1, j) + (b - both) * element(i, j + 1) +
                                            both * element(i + 1, j + 1)));
    }
  EXPECT_EQ(reals(fetch(kPlane, one, points)), expected);
}

TEST(Texture, Linear_filtering_rounds_to_the_bits_of_the_format) {
  Pixels<unsigned char> bytes(2);
  bytes.values = {247, 184};
  Texture one = texture(bytes.image, {ChannelType::u8, 1, true});
  one.sampler.is_linear = true;
  const std::vector points{at(0.5f + 170 / 256.0f)};
  EXPECT_EQ(reals(fetch(kLine, one, points)), std::vector{52727 / 65535.0f});
  Pixels<std::int16_t> words(2);
  words.values = {-244, -245};
  one.levels = {words.image};
  one.format = {ChannelType::s16, 1, true};
  EXPECT_EQ(reals(fetch(kLine, one, {at(1.0f)})), std::vector{-244 / 32767.0f});
  Pixels<float> line(2);
  line.values = {1.0f, 1.0f + 0x1p-23f};
  one.levels = {line.image};
  one.format = floats;
  EXPECT_EQ(reals(fetch(kLine, one, {at(1.0f), at(1.0f - 1 / 256.0f)})),
            (std::vector{1.0f + 0x1p-23f, 1.0f}));
}

TEST(Texture, Linear_filtering_of_integers_rounds_small_ones_to_nearest_and_others_down) {
  constexpr std::string_view line = "tex.1d.v4.u32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0}];";
  Pixels<unsigned char> bytes(2);
  bytes.values = {20, 173};
  Texture one = texture(bytes.image, {ChannelType::u8, 1, false});
  one.sampler.is_linear = true;
  EXPECT_EQ(fetch(line, one, {at(1.0f)})[0][0], 97u);  // of 96.5
  Pixels<std::int32_t> words(2);
  words.values = {-3, -4};
  one.levels = {words.image};
  one.format = {ChannelType::s32, 1, false};
  EXPECT_EQ(static_cast<std::int32_t>(fetch(line, one, {at(1.0f)})[0][0]), -4);  // of -3.5
}

TEST(Texture, Linear_filtering_of_a_volume_blends_eight_elements) {
  const Pixels<float> volume(2, 2, 2);
  Texture one = texture(volume.image);
  one.sampler.is_linear = true;
  float sum = 0;
  for (const float value : volume.values) sum += value;
  EXPECT_EQ(reals(fetch(kVolume, one, {at(1.0f, 1.0f, 1.0f), at(0.5f, 1.5f, 1.5f)})),
            (std::vector{sum / 8, volume.at(0, 1, 1)}));
}

TEST(Texture, Linear_filtering_wraps_to_the_other_end) {
  const Pixels<float> line(4);
  Texture one = texture(line.image);
  one.sampler.is_normalized = one.sampler.is_linear = true;
  one.sampler.address.fill(AddressMode::wrap);
  EXPECT_EQ(reals(fetch(kLine, one, {at(0.0f), at(1.0f)})),
            std::vector<float>(2, (line.at(3) + line.at(0)) / 2));
}

TEST(Texture, A_layer_beyond_the_last_is_the_last) {
  const Pixels<float> layers(4, 3, 2);
  EXPECT_EQ(reals(fetch("tex.a2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1, %c2, %c2}];",
                        texture(layers.image), {at(0, 1.0f, 2.0f), at(1, 1.0f, 2.0f), at(9, 3.0f, 0.0f)})),
            (std::vector{layers.at(1, 2, 0), layers.at(1, 2, 1), layers.at(3, 0, 1)}));
  const Pixels<float> lines(4, 1, 3);
  EXPECT_EQ(reals(fetch("tex.a1d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}];", texture(lines.image),
                        {at(2, 3)})),
            std::vector{lines.at(3, 0, 2)});
}

TEST(Texture, Integer_coordinates_are_not_filtered) {
  const Pixels<float> plane(4, 4);
  Texture one = texture(plane.image);
  one.sampler.is_linear = true;
  EXPECT_EQ(reals(fetch(kPlaneOfIntegers, one, {at(1, 2)})), std::vector{plane.at(1, 2)});
}

TEST(Texture, Integer_coordinates_outside_read_0) {
  const Pixels<float> planes(4, 4, 2);
  Texture one = texture(planes.image);
  one.sampler.border = at(55.0f);
  for (const AddressMode mode : {AddressMode::clamp, AddressMode::wrap, AddressMode::border}) {
    one.sampler.address.fill(mode);
    EXPECT_EQ(fetch(kPlaneOfIntegers, one, {at(-1, 2), at(4, 2), at(1, 4)}), std::vector<Words>(3));
  }
  EXPECT_EQ(fetch("tex.a2d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1, %c2, %c2}];", one,
                  {at(1, 1, 1), at(2, 1, 1)}),
            (std::vector{at(planes.at(1, 1, 1)), Words{}}));
}

TEST(Texture, A_line_is_read_with_integers_in_linear_memory_only) {
  const Pixels<float> line(4);
  Texture one = texture(line.image);
  EXPECT_EQ(reals(fetch(kLineOfIntegers, one, {at(2)})), std::vector{0.0f});
  one.is_linear_memory = true;
  EXPECT_EQ(reals(fetch(kLineOfIntegers, one, {at(2)})), std::vector{line.at(2)});
  EXPECT_EQ(reals(fetch(kLine, one, {at(2.0f)})), std::vector{0.0f});
}

TEST(Texture, Outside_of_linear_memory_is_0) {
  const Pixels<float> line(8);
  Texture one = texture(line.image);
  one.is_linear_memory = true;
  EXPECT_EQ(reals(fetch(kLineOfIntegers, one, {at(3), at(7), at(8), at(-1)})),
            (std::vector{line.at(3), line.at(7), 0.0f, 0.0f}));
}

TEST(Texture, Offsets_count_elements) {
  const Pixels<float> plane(4, 4);
  EXPECT_EQ(reals(fetch("tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}], {1, -2};",
                        texture(plane.image), {at(1.5f, 2.5f)})),
            std::vector{plane.at(2, 0)});
}

TEST(Texture, An_offset_has_4_bits_and_that_of_a_gather_6) {
  const Pixels<float> plane(64, 64);
  const Texture one = texture(plane.image);
  const std::vector points{at(31.5f, 31.5f)};
  EXPECT_EQ(reals(fetch("tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}], {8, 23};", one, points)),
            std::vector{plane.at(23, 38)});
  EXPECT_EQ(
      fetch("tld4.r.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}], {31, 32};", one, points)[0][3],
      bits(plane.at(62, 0)));
}

TEST(Texture, Normalized_coordinates_have_21_fractional_bits) {
  const Pixels<float> line(3);
  Texture one = texture(line.image);
  one.sampler.is_normalized = true;
  EXPECT_EQ(reals(fetch(kLine, one, {at(1 / 3.0f), at(1 / 3.0f + 0x1p-21f)})),
            (std::vector{line.at(0), line.at(1)}));
  one.sampler.address.fill(AddressMode::wrap);
  EXPECT_EQ(reals(fetch(kLine, one, {at(-1e-30f), at(-1e-40f)})), (std::vector{line.at(2), line.at(0)}));
  one.sampler.address.fill(AddressMode::mirror);
  EXPECT_EQ(reals(fetch(kLine, one, {at(2.0f), at(2.0f - 0x1p-21f), at(-0x1p-21f)})),
            (std::vector{line.at(0), line.at(0), line.at(0)}));
}

class Mipmapped : public ::testing::Test {
 public:
  Mipmapped() {
    for (Pixels<float> *const level : {&large, &medium, &small}) all.levels.push_back(level->image);
    std::ranges::fill(large.values, 10.0f);
    std::ranges::fill(medium.values, 20.0f);
    std::ranges::fill(small.values, 40.0f);
    all.sampler.is_normalized = true;
    all.sampler.max_level = 9;
  }
  std::vector<float> at_levels(const std::vector<float> &levels) {
    std::vector<Words> points;
    for (const float level : levels) points.push_back(at(0.5f, 0.5f, level));
    return reals(fetch("tex.level.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}], %c2;", all, points));
  }
  Pixels<float> large{4, 4}, medium{2, 2}, small{1, 1};
  Texture all;
};

TEST_F(Mipmapped, The_nearest_level_is_read) {
  EXPECT_EQ(at_levels({-1, 0, 0.4f, 0.6f, 1, 2, 7}), (std::vector<float>{10, 10, 10, 20, 20, 40, 40}));
}
TEST_F(Mipmapped, Levels_are_blended) {
  all.sampler.is_linear_in_level = true;
  EXPECT_EQ(at_levels({0, 0.5f, 1.25f, 3}), (std::vector<float>{10, 15, 25, 40}));
}
TEST_F(Mipmapped, The_bias_is_added_before_the_clamps) {
  all.sampler.level_bias = 1;
  all.sampler.max_level = 1;
  EXPECT_EQ(at_levels({-1, 0, 2}), (std::vector<float>{10, 20, 20}));
  all.sampler.min_level = 1;
  EXPECT_EQ(at_levels({-1}), std::vector<float>{20});
}
TEST_F(Mipmapped, Derivatives_choose_the_level) {
  const std::string_view body =
      "tex.grad.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}], {%c2, 0f00000000}, {0f00000000, %c3};";
  EXPECT_EQ(reals(fetch(body, all,
                        {at(0.5f, 0.5f, 0.25f, 0.25f), at(0.5f, 0.5f, 0.5f, 0.1f), at(0.5f, 0.5f, 0.1f, 1.0f),
                         at(0.5f, 0.5f, 0.0f, 0.0f)})),
            (std::vector<float>{10, 20, 40, 10}));
}
TEST_F(Mipmapped, A_fetch_of_the_base_has_the_clamps_too) {
  all.sampler.min_level = 2;
  EXPECT_EQ(reals(fetch(kPlane, all, {at(0.5f, 0.5f)})), std::vector<float>{40});
  EXPECT_EQ(
      reals(fetch("tex.base.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}];", all, {at(0.5f, 0.5f)})),
      std::vector<float>{40});
}

TEST(Texture, The_longest_coordinate_chooses_the_face_of_a_cube) {
  Pixels<float> faces(2, 2, 12);
  for (std::size_t i = 0; i < faces.values.size(); ++i) faces.values[i] = static_cast<float>(i);
  const Texture one = texture(faces.image);
  EXPECT_EQ(reals(fetch("tex.cube.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1, %c2, %c3}];", one,
                        {at(1.0f, 0.5f, 0.5f), at(-1.0f, 0.5f, 0.5f), at(0.5f, 1.0f, 0.5f),
                         at(0.5f, -1.0f, 0.5f), at(0.5f, 0.5f, 1.0f), at(0.5f, 0.5f, -1.0f)})),
            (std::vector{faces.at(0, 0, 0), faces.at(1, 0, 1), faces.at(1, 1, 2), faces.at(1, 0, 3),
                         faces.at(1, 0, 4), faces.at(0, 0, 5)}));
  EXPECT_EQ(reals(fetch("tex.acube.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1, %c2, %c3}];", one,
                        {at(1, -0.5f, 0.5f, 1.0f)})),
            std::vector{faces.at(0, 0, 10)});
}

TEST(Texture, Derivatives_of_a_direction_choose_the_level_of_a_cube) {
  Pixels<float> large(4, 4, 6), small(2, 2, 6);
  std::ranges::fill(large.values, 10.0f);
  std::ranges::fill(small.values, 20.0f);
  Texture one = texture(large.image);
  one.levels.push_back(small.image);
  one.sampler.max_level = 1;
  // On the first face, a step of 1 along z is a quarter of a face at a distance of 2: one element.
  EXPECT_EQ(reals(fetch(
                "mov.b32 %d0, 0; tex.grad.cube.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1, %c2, %c2}],\n"
                "{%d0, %d0, %c3, %d0}, {%d0, %d0, %d0, %d0};",
                one, {at(2.0f, 0.0f, 0.0f, 1.0f), at(2.0f, 0.0f, 0.0f, 2.0f)})),
            (std::vector<float>{10, 20}));
}

TEST(Texture, A_gather_reads_one_channel_of_four_elements) {
  Pixels<float> plane(4, 4, 1, 2);
  const auto green = [&](std::size_t x, std::size_t y) { return bits(plane.values[2 * (4 * y + x) + 1]); };
  EXPECT_EQ(fetch("tld4.g.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}];",
                  texture(plane.image, {ChannelType::f32, 2, false}), {at(2.0f, 3.0f)})[0],
            (Words{green(1, 3), green(2, 3), green(2, 2), green(1, 2)}));
}

TEST(Texture, Memory_that_is_not_mapped_is_not_resident) {
  Pixels<float> line(4);
  const std::string_view body =
      "tex.1d.v4.f32.f32 {%d0, %d1, %d2, _}|%p, [%t, {%c0}]; selp.u32 %d3, 1, 0, %p;";
  EXPECT_EQ(fetch(body, texture(line.image), {at(2.0f)})[0][3], 1u);
  line.image.host = nullptr;
  EXPECT_EQ(fetch(body, texture(line.image), {at(2.0f)})[0], Words{});
}

TEST(Texture, Lanes_may_have_other_textures) {
  const Pixels<float> one(4), other(4, 4);
  AtPoints kernel(
      "cvt.u64.u32 %at, %c1; add.u64 %t, %t, %at; setp.ne.u32 %p, %c2, 0;\n"
      "@%p tex.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0}];");
  kernel.loaded.memory.textures[AtPoints::handle] = texture(one.image);
  kernel.loaded.memory.textures[AtPoints::handle + 1] = texture(other.image, {ChannelType::u32, 1, false});
  const auto read = kernel.run({at(1.0f, 0, 1), at(1.0f, 1, 1), at(1.0f, 7, 0)});
  EXPECT_EQ(read[0][0], bits(one.at(1)));
  EXPECT_EQ(read[1][0], bits(other.at(1)));
  EXPECT_EQ(read[2], Words{});
}

TEST(Texture, Is_queried) {
  const Pixels<float> volume(5, 4, 3);
  Texture one = texture(volume.image);
  one.levels.push_back(Pixels<float>(2, 2, 1).image);
  one.sampler.address[1] = AddressMode::border;
  EXPECT_EQ(fetch("txq.width.b32 %d0, [%t]; txq.height.b32 %d1, [%t]; txq.depth.b32 %d2, [%t];\n"
                  "txq.level.width.b32 %d3, [%t], 1;",
                  one, {at(0)})[0],
            (Words{5, 4, 3, 2}));
  EXPECT_EQ(fetch("txq.num_mipmap_levels.b32 %d0, [%t]; txq.addr_mode_1.b32 %d1, [%t];\n"
                  "txq.channel_data_type.b32 %d2, [%t]; txq.channel_order.b32 %d3, [%t];",
                  one, {at(0)})[0],
            (Words{2, 4, 0x10de, 0x10b0}));
  EXPECT_EQ(
      fetch("istypep.texref %p, %t; selp.u32 %d0, 1, 0, %p; istypep.surfref %p, %t; selp.u32 %d1, 1, 0, %p;",
            one, {at(0)})[0],
      (Words{1, 0, 0, 0}));
}

TEST(Texture, Is_named_by_a_reference) {
  const Pixels<float> line(8);
  const std::string text = std::string{testing::header} + R"(.global .texref mine;
.visible .entry k(.param .u64 out) {
  .reg .b32 %d<4>, %i; .reg .b64 %out, %at;
  ld.param.u64 %out, [out]; mov.u32 %i, %tid.x; mul.wide.u32 %at, %i, 4; add.u64 %out, %out, %at;
  tex.1d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [mine, {%i}];
  st.global.b32 [%out], %d0;
  ret;
})";
  testing::Loaded loaded(text);
  Texture &mine = loaded.memory.textures[loaded.addresses.at("mine")] = texture(line.image);
  mine.is_linear_memory = true;
  const std::uint64_t out = loaded.memory.add(32);
  LaunchShape shape;
  shape.block.x = 8;
  EXPECT_TRUE(loaded.run("k", shape, out));
  EXPECT_EQ(loaded.memory.get<float>(out, 8), line.values);
}

TEST(Texture, A_handle_of_no_texture_faults) {
  AtPoints kernel(kLine);
  const Fault fault = kernel.fault(at(0.0f));
  EXPECT_EQ(fault.kind, FaultKind::illegal_address);
  EXPECT_EQ(fault.address, AtPoints::handle);
}

TEST(Texture, Forms_that_are_not_executed_are_refused) {
  const auto refused = [](std::string_view body, std::string_view declarations = {}) {
    return AtPoints(body, declarations).loaded.refused;
  };
  EXPECT_NE(refused("tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}], {0, 0}, %c2;"), "");
  EXPECT_NE(refused("tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, s, {%c0, %c1}];", ".global .samplerref s;"),
            "");
  EXPECT_NE(refused("tex.2dms.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1, %c2, %c3}];"), "");
  EXPECT_NE(refused("istypep.samplerref %p, %t;"), "");
}

}  // namespace
}  // namespace cushim::ptx
