// SPDX-License-Identifier: Apache-2.0
// Mipmapped arrays: each level is half as large as the previous one.
#include <algorithm>

#include "array_memory.hpp"

namespace conformance {
namespace {

class MipmappedArrays : public WithArrays {
 public:
  CUmipmappedArray plain() { return mipmapped(shape(64, 16), 3); }
  CUarray level = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR three = {};
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  CUDA_ARRAY_SPARSE_PROPERTIES sparse = {};
};

// The requested levels, and the shapes of the levels created.
struct MipmapUse {
  const char *name;
  std::size_t width, height, depth;
  unsigned flags, levels;
  int code;
  const char *shapes;
  int format = 1;
  unsigned channels = 1;
};
constexpr unsigned kLayered = CUDA_ARRAY3D_LAYERED, kSurface = CUDA_ARRAY3D_SURFACE_LDST,
                   kCube = CUDA_ARRAY3D_CUBEMAP, kGather = CUDA_ARRAY3D_TEXTURE_GATHER;
const MipmapUse mipmap_uses[] = {
    {"Of_a_line", 64, 0, 0, 0, 3, 0, "64x0x0, 32x0x0, 16x0x0"},
    {"Of_a_plane", 64, 16, 0, 0, 3, 0, "64x16x0, 32x8x0, 16x4x0"},
    {"Of_a_cube", 64, 16, 8, 0, 3, 0, "64x16x8, 32x8x4, 16x4x2"},
    {"Of_an_odd_plane", 13, 7, 0, 0, 4, 0, "13x7x0, 6x3x0, 3x1x0, 1x1x0"},
    {"Of_one_level", 64, 16, 0, 0, 1, 0, "64x16x0"},
    {"Of_no_level", 64, 16, 0, 0, 0, 0, "64x16x0"},
    {"Of_all_levels", 64, 16, 0, 0, 7, 0, "64x16x0, 32x8x0, 16x4x0, 8x2x0, 4x1x0, 2x1x0, 1x1x0"},
    {"Of_more_levels_than_there_can_be", 64, 16, 0, 0, 8, 0,
     "64x16x0, 32x8x0, 16x4x0, 8x2x0, 4x1x0, 2x1x0, 1x1x0"},
    {"Of_a_million_levels", 64, 16, 0, 0, 1000000, 0, "64x16x0, 32x8x0, 16x4x0, 8x2x0, 4x1x0, 2x1x0, 1x1x0"},
    {"Of_layers", 64, 16, 8, kLayered, 3, 0, "64x16x8, 32x8x8, 16x4x8"},
    {"Of_layers_of_lines", 64, 0, 8, kLayered, 3, 0, "64x0x8, 32x0x8, 16x0x8"},
    {"Of_a_cubemap", 16, 16, 6, kCube, 3, 0, "16x16x6, 8x8x6, 4x4x6"},
    {"Of_layers_of_cubemaps", 16, 16, 12, kCube | kLayered, 3, 0, "16x16x12, 8x8x12, 4x4x12"},
    {"For_surfaces", 64, 16, 0, kSurface, 3, 0, "64x16x0, 32x8x0, 16x4x0"},
    {"For_gathers", 64, 16, 0, kGather, 3, 0, "64x16x0, 32x8x0, 16x4x0"},
    {"Sparse", 1024, 1024, 0, kSparse, 3, 0, "1024x1024x0, 512x512x0, 256x256x0"},
    {"Deferred", 64, 16, 0, kDeferred, 3, 0, "64x16x0, 32x8x0, 16x4x0"},
    {"Of_no_width", 0, 16, 0, 0, 3, 1, ""},
    {"Of_no_height_but_depth", 64, 0, 8, 0, 3, 1, ""},
    {"The_longest_line", 32768, 0, 0, 0, 2, 0, "32768x0x0, 16384x0x0"},
    {"A_line_too_long", 32769, 0, 0, 0, 2, 1, ""},
    {"A_plane_too_wide", 32769, 1, 0, 0, 2, 1, ""},
    {"A_plane_too_high", 1, 32769, 0, 0, 2, 1, ""},
    {"A_cube_too_wide", 16385, 1, 1, 0, 2, 1, ""},
    {"A_bad_format", 64, 16, 0, 0, 3, 1, "", 4},
    {"No_channels", 64, 16, 0, 0, 3, 1, "", 1, 0},
    {"Three_channels", 64, 16, 0, 0, 3, 1, "", 1, 3},
    {"Of_two_planes", 64, 64, 0, 0, 3, 1, "", 0xb0, 3},
    {"An_unknown_flag", 64, 16, 0, 1u << 20, 3, 1, ""},
};

const bool uses = [] {
  for (const MipmapUse &use : mipmap_uses)
    ADD_TEST(MipmappedArrays, use.name, [=](MipmappedArrays &t) {
      const auto wanted =
          shape(use.width, use.height, use.depth, format(use.format), use.channels, use.flags);
      expect_answer(__FILE__, __LINE__, "cuMipmappedArrayCreate(&mipmapped_out, &wanted, levels)",
                    driver().cuMipmappedArrayCreate(&t.mipmapped_out, &wanted, use.levels), code(use.code));
      if (use.code != 0) return;
      std::string shapes;
      for (unsigned level = 0; level < 9; ++level) {
        CUarray found = nullptr;
        const CUresult code = driver().cuMipmappedArrayGetLevel(&found, t.mipmapped_out, level);
        answer("cuMipmappedArrayGetLevel(&found, mipmapped_out, level)", code);
        if (code != CUDA_SUCCESS) break;
        NEED(driver().cuArray3DGetDescriptor(&t.three, found));
        if (!shapes.empty()) shapes += ", ";
        shapes += std::to_string(t.three.Width) + "x" + std::to_string(t.three.Height) + "x" +
                  std::to_string(t.three.Depth);
        if (t.three.Flags != use.flags) shapes += " with flags " + std::to_string(t.three.Flags);
      }
      EXPECT_VALUE(shapes, use.shapes);
    });
  return true;
}();

STATEMENT(MipmappedArrays, Making_one_needs_a_place,
          (three = shape(64), driver().cuMipmappedArrayCreate(nullptr, &three, 2)), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, Making_one_needs_a_shape,
          driver().cuMipmappedArrayCreate(&mipmapped_out, nullptr, 2), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, A_level_needs_a_place, driver().cuMipmappedArrayGetLevel(nullptr, plain(), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, A_level_needs_an_array, driver().cuMipmappedArrayGetLevel(&level, nullptr, 0),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(MipmappedArrays, A_level_that_is_not_there, driver().cuMipmappedArrayGetLevel(&level, plain(), 3),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, Destroying_needs_one, driver().cuMipmappedArrayDestroy(nullptr),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(MipmappedArrays, Memory_requirements_need_a_deferred_one,
          driver().cuMipmappedArrayGetMemoryRequirements(&requirements, plain(), device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, Memory_requirements_need_a_place,
          driver().cuMipmappedArrayGetMemoryRequirements(nullptr, plain(), device), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, Memory_requirements_need_an_array,
          driver().cuMipmappedArrayGetMemoryRequirements(&requirements, nullptr, device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, Sparse_properties_need_a_sparse_one,
          driver().cuMipmappedArrayGetSparseProperties(&sparse, plain()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, Sparse_properties_need_a_place,
          driver().cuMipmappedArrayGetSparseProperties(nullptr, plain()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(MipmappedArrays, Sparse_properties_need_an_array,
          driver().cuMipmappedArrayGetSparseProperties(&sparse, nullptr), CUDA_ERROR_INVALID_VALUE)
TEST_F(MipmappedArrays, The_memory_of_a_deferred_one) {
  const CUmipmappedArray made = mipmapped(shape(64, 64, 0, format(1), 1, kDeferred), 3);
  EXPECT_ANSWER(driver().cuMipmappedArrayGetMemoryRequirements(&requirements, made, device), CUDA_SUCCESS);
  EXPECT_VALUE(requirements.size, std::size_t{65536});
  EXPECT_VALUE(requirements.alignment, std::size_t{65536});
}
TEST_F(MipmappedArrays, The_tiles_of_a_sparse_one) {
  const CUmipmappedArray made = mipmapped(shape(1024, 1024, 0, format(1), 1, kSparse), 8);
  EXPECT_ANSWER(driver().cuMipmappedArrayGetSparseProperties(&sparse, made), CUDA_SUCCESS);
  EXPECT_VALUE(sparse.tileExtent.width, 256u);
  EXPECT_VALUE(sparse.tileExtent.height, 256u);
  EXPECT_VALUE(sparse.tileExtent.depth, 1u);
  EXPECT_VALUE(sparse.miptailFirstLevel, 3u);
  EXPECT_VALUE(sparse.miptailSize, 65536ull);
  EXPECT_VALUE(sparse.flags, 0u);
}
TEST_F(MipmappedArrays, The_sparse_properties_of_a_level_are_not_told) {
  const CUmipmappedArray made = mipmapped(shape(1024, 1024, 0, format(1), 1, kSparse), 3);
  NEED(driver().cuMipmappedArrayGetLevel(&level, made, 0));
  EXPECT_ANSWER(driver().cuArrayGetSparseProperties(&sparse, level), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(MipmappedArrays, Without_a_context) {
  const CUmipmappedArray made = plain();
  const auto wanted = shape(64, 16);
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMipmappedArrayCreate(&mipmapped_out, &wanted, 2), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMipmappedArrayCreate(nullptr, &wanted, 2), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMipmappedArrayGetLevel(&level, made, 0), CUDA_SUCCESS);
}
TEST_F(MipmappedArrays, Are_destroyed_without_a_context) {
  const auto wanted = shape(64, 16);
  CUmipmappedArray made = nullptr;
  NEED(driver().cuMipmappedArrayCreate(&made, &wanted, 2));
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMipmappedArrayDestroy(made), CUDA_SUCCESS);
}
TEST_F(MipmappedArrays, A_level_is_the_same_each_time) {
  const CUmipmappedArray made = plain();
  CUarray again = nullptr;
  EXPECT_ANSWER(driver().cuMipmappedArrayGetLevel(&level, made, 1), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMipmappedArrayGetLevel(&again, made, 1), CUDA_SUCCESS);
  EXPECT_VALUE(level == again, true);
}
TEST_F(MipmappedArrays, The_levels_hold_bytes_of_their_own) {
  const CUmipmappedArray made = plain();
  CUarray first = nullptr, second = nullptr;
  NEED(driver().cuMipmappedArrayGetLevel(&first, made, 0));
  NEED(driver().cuMipmappedArrayGetLevel(&second, made, 1));
  put(first, 64, 16, 1, pattern(1024, 1));
  put(second, 32, 8, 1, pattern(256, 100));
  EXPECT_VALUE(take(first, 64, 16, 1) == pattern(1024, 1), true);
  EXPECT_VALUE(take(second, 32, 8, 1) == pattern(256, 100), true);
}
TEST_F(MipmappedArrays, A_copy_beyond_a_level) {
  const CUmipmappedArray made = plain();
  NEED(driver().cuMipmappedArrayGetLevel(&level, made, 1));
  unsigned char bytes[64] = {};
  EXPECT_ANSWER(driver().cuMemcpyAtoH(bytes, level, 0, 32), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemcpyAtoH(bytes, level, 0, 33), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(MipmappedArrays, A_level_has_no_planes) {
  const CUmipmappedArray made = plain();
  NEED(driver().cuMipmappedArrayGetLevel(&level, made, 1));
  CUarray plane = nullptr;
  EXPECT_ANSWER(driver().cuArrayGetPlane(&plane, level, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance
