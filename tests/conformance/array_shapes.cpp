// SPDX-License-Identifier: Apache-2.0
// The shapes of arrays: sizes, dimensions and flags.
#include "arrays.hpp"

namespace conformance {
namespace {

struct ShapeUse {
  const char *name;
  std::size_t width, height, depth;
  unsigned flags;
  int code;
  CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8;
  unsigned channels = 1;
};

constexpr unsigned kLayered = CUDA_ARRAY3D_LAYERED, kSurface = CUDA_ARRAY3D_SURFACE_LDST,
                   kCube = CUDA_ARRAY3D_CUBEMAP, kGather = CUDA_ARRAY3D_TEXTURE_GATHER,
                   kDepth = CUDA_ARRAY3D_DEPTH_TEXTURE, kColor = CUDA_ARRAY3D_COLOR_ATTACHMENT,
                   kVideo = 0x100;

// By cuArray3DCreate. The limits are the attributes of an H200. Not in the documentation: a depth texture and
// a color attachment return an error, and flag 31, which has no name, is accepted.
const ShapeUse shape_uses[] = {
    {"A_line", 64, 0, 0, 0, 0},
    {"A_line_of_one", 1, 0, 0, 0, 0},
    {"A_plane", 64, 8, 0, 0, 0},
    {"A_cube", 64, 8, 4, 0, 0},
    {"Of_nothing", 0, 0, 0, 0, 1},
    {"Of_no_width", 0, 8, 0, 0, 1},
    {"Of_no_width_but_depth", 0, 0, 4, 0, 1},
    {"Of_no_height_but_depth", 64, 0, 4, 0, 1},
    {"The_longest_line", 131072, 0, 0, 0, 0},
    {"A_line_too_long", 131073, 0, 0, 0, 1},
    {"The_widest_plane", 131072, 1, 0, 0, 0},
    {"A_plane_too_wide", 131073, 1, 0, 0, 1},
    {"A_lower_plane", 1, 65000, 0, 0, 0},
    {"A_high_plane", 1, 65001, 0, 0, 0},
    {"The_highest_plane", 1, 65536, 0, 0, 0},
    {"A_plane_too_high", 1, 65537, 0, 0, 1},
    {"The_widest_cube", 16384, 1, 1, 0, 0},
    {"A_wide_flat_cube", 32768, 1, 1, 0, 1},
    {"A_cube_too_wide", 32769, 1, 1, 0, 1},
    {"The_highest_cube", 1, 16384, 1, 0, 0},
    {"A_cube_too_high", 1, 16385, 1, 0, 1},
    {"The_deepest_cube", 1, 1, 16384, 0, 0},
    {"A_deep_cube", 1, 1, 32768, 0, 0},
    {"A_cube_too_deep", 1, 1, 32769, 0, 1},
    {"A_width_that_overflows", std::size_t{1} << 32, 1, 0, 0, 1},
    {"A_width_of_all_bits", ~std::size_t{0}, ~std::size_t{0}, ~std::size_t{0}, 0, 1},
    {"Layers_of_lines", 64, 0, 4, kLayered, 0},
    {"Layers_of_planes", 64, 8, 4, kLayered, 0},
    {"No_layers", 64, 8, 0, kLayered, 1},
    {"No_layers_of_lines", 64, 0, 0, kLayered, 1},
    {"The_most_layers", 1, 1, 2048, kLayered, 0},
    {"Too_many_layers", 1, 1, 2049, kLayered, 1},
    {"The_most_layers_of_lines", 1, 0, 2048, kLayered, 0},
    {"Too_many_layers_of_lines", 1, 0, 2049, kLayered, 1},
    {"The_widest_layers", 32768, 1, 1, kLayered, 0},
    {"Layers_too_wide", 32769, 1, 1, kLayered, 1},
    {"Layers_too_high", 1, 32769, 1, kLayered, 1},
    {"A_cubemap", 16, 16, 6, kCube, 0},
    {"A_cubemap_of_other_sides", 16, 8, 6, kCube, 1},
    {"A_cubemap_of_five_faces", 16, 16, 5, kCube, 1},
    {"A_cubemap_of_twelve_faces", 16, 16, 12, kCube, 1},
    {"A_cubemap_without_depth", 16, 16, 0, kCube, 1},
    {"The_widest_cubemap", 32768, 32768, 6, kCube | kDeferred, 0},
    {"A_cubemap_too_wide", 32769, 32769, 6, kCube | kDeferred, 1},
    {"Layers_of_cubemaps", 16, 16, 12, kCube | kLayered, 0},
    {"Layers_of_cubemaps_by_seven", 16, 16, 7, kCube | kLayered, 1},
    {"The_most_layers_of_cubemaps", 1, 1, 2046, kCube | kLayered, 0},
    {"Too_many_layers_of_cubemaps", 1, 1, 2052, kCube | kLayered, 1},
    {"For_surfaces", 64, 8, 0, kSurface, 0},
    {"A_line_for_surfaces", 64, 0, 0, kSurface, 0},
    {"The_longest_line_for_surfaces", 32768, 0, 0, kSurface, 0},
    {"A_line_too_long_for_surfaces", 32769, 0, 0, kSurface, 1},
    {"A_plane_too_wide_for_surfaces", 131073, 1, 0, kSurface, 1},
    {"A_high_plane_for_surfaces", 1, 65537, 0, kSurface, 1},
    {"A_cube_too_wide_for_surfaces", 16385, 1, 1, kSurface, 1},
    {"For_gathers", 64, 8, 0, kGather, 0},
    {"A_line_for_gathers", 64, 0, 0, kGather, 1},
    {"A_cube_for_gathers", 64, 8, 4, kGather, 1},
    {"Too_wide_for_gathers", 32769, 8, 0, kGather, 1},
    {"Layers_for_gathers", 64, 8, 4, kGather | kLayered, 1},
    {"Of_depths", 64, 8, 0, kDepth, 1},
    {"Of_float_depths", 64, 8, 0, kDepth, 1, CU_AD_FORMAT_FLOAT},
    {"For_colors", 64, 8, 0, kColor, 1},
    {"A_cube_for_colors", 64, 8, 4, kColor, 1},
    {"Sparse", 1024, 1024, 0, kSparse, 0},
    {"A_sparse_line", 1024, 0, 0, kSparse, 1},
    {"A_sparse_cube", 256, 256, 64, kSparse, 0},
    {"Sparse_layers", 1024, 1024, 4, kSparse | kLayered, 0},
    {"Sparse_and_small", 8, 8, 0, kSparse, 0},
    {"Sparse_and_deferred", 1024, 1024, 0, kSparse | kDeferred, 1},
    {"Deferred", 64, 8, 0, kDeferred, 0},
    {"A_deferred_line", 64, 0, 0, kDeferred, 0},
    {"For_video", 64, 8, 0, kVideo, 0},
};

const bool shapes = [] {
  const auto add = [](const std::string &name, const ShapeUse &use) {
    ADD_TEST(Arrays, name, [=](Arrays &t) {
      const CUDA_ARRAY3D_DESCRIPTOR wanted =
          shape(use.width, use.height, use.depth, use.format, use.channels, use.flags);
      expect_answer(__FILE__, __LINE__, "cuArray3DCreate(&array_out, &wanted)",
                    driver().cuArray3DCreate(&t.array_out, &wanted), code(use.code));
      if (use.code != 0) return;
      NEED(driver().cuArray3DGetDescriptor(&t.three, t.array_out));
      EXPECT_VALUE(text_of(t.three), text_of(wanted));
    });
  };
  for (const ShapeUse &use : shape_uses) add(use.name, use);
  for (unsigned bit = 9; bit < 32; ++bit)
    add("With_unknown_flag_" + std::to_string(bit), {"", 64, 8, 0, 1u << bit, bit == 31 ? 0 : 1});
  return true;
}();

// By cuArrayCreate, which supports one and two dimensions.
const struct {
  const char *name;
  std::size_t width, height;
  int code;
} plane_uses[] = {
    {"A_line_by_cuArrayCreate", 64, 0, 0},
    {"A_plane_by_cuArrayCreate", 64, 8, 0},
    {"A_plane_of_one_row_by_cuArrayCreate", 64, 1, 0},
    {"Of_no_width_by_cuArrayCreate", 0, 8, 1},
    {"Of_nothing_by_cuArrayCreate", 0, 0, 1},
    {"The_longest_line_by_cuArrayCreate", 131072, 0, 0},
    {"A_line_too_long_by_cuArrayCreate", 131073, 0, 1},
    {"A_plane_too_wide_by_cuArrayCreate", 131073, 8, 1},
    {"A_plane_too_high_by_cuArrayCreate", 8, 65537, 1},
};

const bool planes = [] {
  for (const auto &use : plane_uses)
    ADD_TEST(Arrays, use.name, [=](Arrays &t) {
      CUDA_ARRAY_DESCRIPTOR wanted = {};
      wanted.Width = use.width;
      wanted.Height = use.height;
      wanted.Format = CU_AD_FORMAT_UNSIGNED_INT8;
      wanted.NumChannels = 1;
      expect_answer(__FILE__, __LINE__, "cuArrayCreate(&array_out, &wanted)",
                    driver().cuArrayCreate(&t.array_out, &wanted), code(use.code));
      if (use.code != 0) return;
      NEED(driver().cuArrayGetDescriptor(&t.two, t.array_out));
      EXPECT_VALUE(text_of(t.two), text_of(wanted));
      NEED(driver().cuArray3DGetDescriptor(&t.three, t.array_out));
      EXPECT_VALUE(text_of(t.three), text_of(shape(use.width, use.height)));
    });
  return true;
}();

}  // namespace
}  // namespace conformance
