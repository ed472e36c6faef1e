// SPDX-License-Identifier: Apache-2.0
// Loads, stores and reductions of surfaces.
#include "images.hpp"

namespace cushim::ptx {
namespace {

using testing::at;
using testing::AtPoints;
using testing::Pixels;
using testing::Words;

constexpr TexelFormat words_format{ChannelType::u32, 1, false};

std::vector<Words> access(std::string_view body, const Image &image, const std::vector<Words> &points,
                          TexelFormat format = words_format) {
  AtPoints kernel(body);
  kernel.loaded.memory.surfaces[AtPoints::handle] = {format, image};
  return kernel.run(points);
}
Fault fault(std::string_view body, const Image &image, const Words &point) {
  AtPoints kernel(body);
  kernel.loaded.memory.surfaces[AtPoints::handle] = {words_format, image};
  return kernel.fault(point);
}

TEST(Surface, The_first_coordinate_counts_bytes) {
  const Pixels<std::uint32_t> plane(4, 3);
  const auto read = access("suld.b.2d.b32.trap {%d0}, [%t, {%c0, %c1}];", plane.image, {at(8, 1), at(12, 2)});
  EXPECT_EQ(read[0][0], plane.at(2, 1));
  EXPECT_EQ(read[1][0], plane.at(3, 2));
}

TEST(Surface, A_coordinate_needs_no_braces) {
  const Pixels<std::uint32_t> line(4);
  EXPECT_EQ(access("suld.b.1d.b32.trap %d0, [%t, %c0];", line.image, {at(8)})[0][0], line.at(2));
}

TEST(Surface, Loads_vectors_and_small_values) {
  const Pixels<std::uint32_t> plane(4, 3);
  EXPECT_EQ(
      access("suld.b.2d.v4.b32.trap {%d0, %d1, %d2, %d3}, [%t, {%c0, %c1}];", plane.image, {at(0, 2)})[0],
      (Words{plane.at(0, 2), plane.at(1, 2), plane.at(2, 2), plane.at(3, 2)}));
  Pixels<unsigned char> bytes(4);
  bytes.values = {1, 2, 3, 250};
  EXPECT_EQ(access("suld.b.1d.v4.b8.trap {%h0, %h1, %h2, %h3}, [%t, {%c0}];\n"
                   "cvt.u32.u16 %d0, %h0; cvt.u32.u16 %d1, %h1; cvt.u32.u16 %d2, %h2; cvt.u32.u16 %d3, %h3;",
                   bytes.image, {at(0)}, {ChannelType::u8, 1, false})[0],
            (Words{1, 2, 3, 250}));
  EXPECT_EQ(access("suld.b.2d.b64.trap {%w0}, [%t, {%c0, %c1}]; mov.b64 {%d0, %d1}, %w0;", plane.image,
                   {at(8, 1)})[0],
            (Words{plane.at(2, 1), plane.at(3, 1), 0, 0}));
}

TEST(Surface, Layers_come_first_and_slices_last) {
  const Pixels<std::uint32_t> deep(4, 3, 2);
  EXPECT_EQ(access("suld.b.a2d.b32.trap {%d0}, [%t, {%c0, %c1, %c2, %c2}];\n"
                   "suld.b.3d.b32.trap {%d1}, [%t, {%c1, %c2, %c0, %c0}];",
                   deep.image, {at(1, 4, 2)})[0],
            (Words{deep.at(1, 2, 1), deep.at(1, 2, 1), 0, 0}));
  const Pixels<std::uint32_t> lines(4, 1, 3);
  EXPECT_EQ(access("suld.b.a1d.b32.trap {%d0}, [%t, {%c0, %c1}];", lines.image, {at(2, 4)})[0][0],
            lines.at(1, 0, 2));
}

TEST(Surface, Stores_are_loaded) {
  Pixels<std::uint32_t> plane(4, 3);
  access("sust.b.2d.v2.b32.trap [%t, {%c0, %c1}], {%c2, %c3};", plane.image, {at(8, 1, 77, 78)});
  EXPECT_EQ(plane.at(2, 1), 77u);
  EXPECT_EQ(plane.at(3, 1), 78u);
  access("cvt.u16.u32 %h0, %c2; sust.b.2d.b8.trap [%t, {%c0, %c1}], {%h0};", plane.image, {at(9, 1, 1)});
  EXPECT_EQ(plane.at(2, 1), 77u + 256);
}

TEST(Surface, Outside_zero_loads_0_and_stores_nothing) {
  Pixels<std::uint32_t> plane(4, 3);
  const auto before = plane.values;
  const auto read =
      access("sust.b.2d.b32.zero [%t, {%c0, %c1}], 5; suld.b.2d.b32.zero {%d0}, [%t, {%c0, %c1}];",
             plane.image, {at(16, 0), at(-4, 0), at(0, 3), at(0, -1)});
  for (const Words &one : read) EXPECT_EQ(one[0], 0u);
  EXPECT_EQ(plane.values, before);
}

TEST(Surface, Outside_clamp_accesses_the_nearest_element) {
  Pixels<std::uint32_t> plane(4, 3);
  const auto read = access("suld.b.2d.b32.clamp {%d0}, [%t, {%c0, %c1}];", plane.image,
                           {at(16, 0), at(-4, 1), at(4, 3), at(100, -1)});
  EXPECT_EQ(read[0][0], plane.at(3, 0));
  EXPECT_EQ(read[1][0], plane.at(0, 1));
  EXPECT_EQ(read[2][0], plane.at(1, 2));
  EXPECT_EQ(read[3][0], plane.at(3, 0));
}

TEST(Surface, Outside_trap_faults) {
  const Pixels<std::uint32_t> plane(4, 3);
  const std::string_view load = "suld.b.2d.b32.trap {%d0}, [%t, {%c0, %c1}];";
  for (const Words &point : {at(16, 0), at(-4, 0), at(0, 3), at(0, -1)})
    EXPECT_EQ(fault(load, plane.image, point).kind, FaultKind::trap);
  EXPECT_EQ(fault("sust.b.2d.b32.trap [%t, {%c0, %c1}], %c2;", plane.image, at(0, 3)).kind, FaultKind::trap);
  EXPECT_EQ(fault(load, plane.image, at(2, 0)).kind, FaultKind::misaligned_address);
  // The last byte is outside.
  EXPECT_EQ(fault("suld.b.2d.v2.b32.trap {%d0, %d1}, [%t, {%c0, %c1}];", plane.image, at(12, 0)).kind,
            FaultKind::trap);
}

TEST(Surface, A_handle_of_no_surface_faults) {
  AtPoints kernel("suld.b.1d.b32.trap %d0, [%t, %c0];");
  EXPECT_EQ(kernel.fault(at(0)).kind, FaultKind::illegal_address);
}

TEST(Surface, Formatted_stores_convert) {
  Pixels<unsigned char> colors(4, 1, 1, 4);
  access("sust.p.1d.v4.b32.trap [%t, {%c0}], {0f3f800000, 0f3f000000, 0fbf800000, 0f40000000};", colors.image,
         {at(1)}, {ChannelType::u8, 4, true});
  EXPECT_EQ(std::vector(colors.values.begin() + 4, colors.values.begin() + 8),
            (std::vector<unsigned char>{255, 128, 0, 255}));
  Pixels<std::int16_t> numbers(4);
  access("sust.p.1d.b32.trap [%t, {%c0}], {%c1};", numbers.image, {at(0, -7), at(1, 70000)},
         {ChannelType::s16, 1, false});
  EXPECT_EQ(numbers.at(0), -7);
  EXPECT_EQ(numbers.at(1), 32767);
}

TEST(Surface, Formatted_stores_of_halves_round_toward_zero) {
  Pixels<std::uint16_t> halves(8);
  access("sust.p.1d.b32.trap [%t, {%c0}], {%c1};", halves.image,
         {at(0, 0.3f), at(1, -1e30f), at(2, 1e-7f), at(3, 0x7fc00000), at(4, 0x7f800000), at(5, -0x00200000),
          at(6, 65519.0f), at(7, 0.0f)},
         {ChannelType::f16, 1, false});
  EXPECT_EQ(halves.values,
            (std::vector<std::uint16_t>{0x34cc, 0xfbff, 0x0001, 0x7e00, 0x7c00, 0xff00, 0x7bff, 0}));
}

TEST(Surface, Reductions_update_elements) {
  Pixels<std::uint32_t> plane(4, 2);
  std::ranges::fill(plane.values, 100u);
  access("sured.b.add.2d.u32.trap [%t, {%c0, %c1}], %c2; sured.p.min.2d.b32.clamp [%t, {%c3, %c1}], 7;",
         plane.image, {at(4, 1, 5, 2), at(4, 1, 6, 9)});
  EXPECT_EQ(plane.at(1, 1), 111u);
  EXPECT_EQ(plane.at(2, 1), 7u);
  EXPECT_EQ(plane.at(3, 1), 7u);
  Pixels<std::int32_t> numbers(4);
  std::ranges::fill(numbers.values, 3);
  access("sured.p.min.1d.b32.trap [%t, {%c0}], %c1;", numbers.image, {at(1, -5)},
         {ChannelType::s32, 1, false});
  EXPECT_EQ(numbers.at(1), -5);
}

TEST(Surface, Is_queried) {
  const Pixels<unsigned char> volume(5, 4, 3, 4);
  EXPECT_EQ(access("suq.width.b32 %d0, [%t]; suq.height.b32 %d1, [%t]; suq.array_size.b32 %d2, [%t];\n"
                   "suq.channel_order.b32 %d3, [%t];",
                   volume.image, {at(0)}, {ChannelType::u8, 4, false})[0],
            (Words{5, 4, 3, 0x10b5}));
}

}  // namespace
}  // namespace cushim::ptx
