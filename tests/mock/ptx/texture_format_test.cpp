// SPDX-License-Identifier: Apache-2.0
// The values that textures of each format return, compared with those of an H200.
#include "texture.hpp"

namespace cushim::ptx {
namespace {

using testing::at;
using testing::bits;
using testing::fetch;
using testing::kLine;
using testing::Pixels;
using testing::real;
using testing::reals;
using testing::texture;
using testing::Words;

TEST(TextureFormat, Small_integers_are_read_as_normalized_floats) {
  Pixels<unsigned char> bytes(2, 1, 1, 4);
  bytes.values = {0, 51, 102, 255, 1, 2, 3, 4};
  const Words first = fetch(kLine, texture(bytes.image, {ChannelType::u8, 4, true}), {at(0.0f)})[0];
  EXPECT_EQ(first, at(0.0f, 51 / 255.0f, 102 / 255.0f, 1.0f));
  Pixels<std::int16_t> words(2, 1, 1, 2);
  words.values = {-32768, 32767, 0, 16384};
  const auto both = fetch(kLine, texture(words.image, {ChannelType::s16, 2, true}), {at(0.0f), at(1.0f)});
  EXPECT_EQ(both[0], at(-1.0f, 1.0f, 0.0f, 0.0f));
  EXPECT_EQ(real(both[1][1]), 16384 / 32767.0f);
}

TEST(TextureFormat, Integers_are_read_as_they_are) {
  Pixels<signed char> bytes(2);
  bytes.values = {-5, 7};
  const auto read = fetch("tex.1d.v4.s32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0}];",
                          texture(bytes.image, {ChannelType::s8, 1, false}), {at(0.0f), at(1.0f)});
  EXPECT_EQ(read[0][0], static_cast<std::uint32_t>(-5));
  EXPECT_EQ(read[1][0], 7u);
}

TEST(TextureFormat, Halves_are_read_as_floats) {
  Pixels<std::uint16_t> halves(2);
  halves.values = {0x3c00, 0xc100};  // 1, -2.5
  EXPECT_EQ(reals(fetch(kLine, texture(halves.image, {ChannelType::f16, 1, false}), {at(0.0f), at(1.0f)})),
            (std::vector{1.0f, -2.5f}));
}

TEST(TextureFormat, Results_can_be_pairs_of_halves) {
  Pixels<float> line(1, 1, 1, 4);
  line.values = {1.0f, -2.5f, 0.5f, 65504.0f};
  EXPECT_EQ(fetch("tex.1d.v2.f16x2.f32 {%d0, %d1}, [%t, {%c0}];",
                  texture(line.image, {ChannelType::f32, 4, false}), {at(0.0f)})[0],
            (Words{0xc1003c00, 0x7bff3800, 0, 0}));
}

TEST(TextureFormat, Channels_that_the_format_lacks_are_0) {
  const Pixels<float> line(1);
  EXPECT_EQ(fetch("mov.b32 %d3, 7; tex.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%c0}];", texture(line.image),
                  {at(0.0f)})[0],
            at(line.at(0)));
}

TEST(TextureFormat, Colors_are_converted_from_srgb_with_8_bits) {
  Pixels<unsigned char> bytes(1, 1, 1, 4);
  bytes.values = {188, 1, 255, 128};
  Texture one = texture(bytes.image, {ChannelType::u8, 4, true});
  one.sampler.is_srgb = true;
  EXPECT_EQ(fetch(kLine, one, {at(0.0f)})[0],
            (Words{0x3f010000, 0x39a00000, 0x3f800000, bits(128 / 255.0f)}));
  one.format.channels = 2;
  EXPECT_EQ(fetch(kLine, one, {at(0.0f)})[0], (Words{0x3f010000, bits(1 / 255.0f), 0, 0}));
}

TEST(TextureFormat, A_border_is_rounded_to_the_format) {
  Pixels<std::uint32_t> memory(4);
  Texture one = texture(memory.image);
  one.sampler.address.fill(AddressMode::border);
  const auto border = [&](TexelFormat format, Words given) {
    one.format = format;
    one.sampler.border = given;
    return fetch(kLine, one, {at(-2.0f)})[0];
  };
  const Words fractions = at(0.3f, -1.5f, 1.7f, 2.4f);
  EXPECT_EQ(border({ChannelType::u8, 4, true}, fractions), at(76 / 255.0f, 0.0f, 1.0f, 1.0f));
  EXPECT_EQ(border({ChannelType::s16, 2, true}, fractions), at(9830 / 32767.0f, -1.0f));
  EXPECT_EQ(border({ChannelType::f16, 4, false}, at(0.3f, 1.0f, 1.7f, 2.4f)),
            (Words{0x3e998000, 0x3f800000, 0x3fd98000, 0x40198000}));
  EXPECT_EQ(border({ChannelType::f32, 1, false}, fractions), at(0.3f));
  const Words integers = at(300, -70001, 302, -70003);
  EXPECT_EQ(border({ChannelType::u8, 4, false}, integers), (Words{0x2c, 0x8f, 0x2e, 0x8d}));
  EXPECT_EQ(border({ChannelType::s8, 4, false}, integers), (Words{0x2c, 0xffffff8f, 0x2e, 0xffffff8d}));
  EXPECT_EQ(border({ChannelType::u32, 1, false}, integers), at(300));
  one.sampler.is_srgb = true;
  EXPECT_EQ(border({ChannelType::u8, 4, true}, at(0.2f, 0.6f, 1.0f, 1.4f)),
            (Words{0x3e4e0000, 0x3f190000, 0x3f800000, 0x3f800000}));
}

}  // namespace
}  // namespace cushim::ptx
