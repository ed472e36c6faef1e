// SPDX-License-Identifier: Apache-2.0
// Texture objects.
#include <cstring>

#include "images.hpp"

namespace conformance {
namespace {

constexpr unsigned kNormalized = CU_TRSF_NORMALIZED_COORDINATES, kInteger = CU_TRSF_READ_AS_INTEGER;
constexpr auto kFloat = CU_AD_FORMAT_FLOAT;

class Textures : public WithImages {
 public:
  CUDA_RESOURCE_DESC plain() { return of(array(shape(16, 8, 0, kFloat))); }
  CUDA_RESOURCE_DESC levels() { return of(mipmapped(shape(16, 8, 0, kFloat), 3)); }
  CUDA_RESOURCE_DESC linear(std::size_t bytes, std::size_t offset = 0, CUarray_format format = kFloat,
                            unsigned channels = 1) {
    CUDA_RESOURCE_DESC made = {};
    made.resType = CU_RESOURCE_TYPE_LINEAR;
    made.res.linear.devPtr = memory() + offset;
    made.res.linear.format = format;
    made.res.linear.numChannels = channels;
    made.res.linear.sizeInBytes = bytes;
    return made;
  }
  CUDA_RESOURCE_DESC pitch(std::size_t width, std::size_t height, std::size_t bytes, std::size_t offset = 0) {
    CUDA_RESOURCE_DESC made = {};
    made.resType = CU_RESOURCE_TYPE_PITCH2D;
    made.res.pitch2D.devPtr = memory() + offset;
    made.res.pitch2D.format = kFloat;
    made.res.pitch2D.numChannels = 1;
    made.res.pitch2D.width = width;
    made.res.pitch2D.height = height;
    made.res.pitch2D.pitchInBytes = bytes;
    return made;
  }
  static CUDA_TEXTURE_DESC sampled(unsigned flags, CUfilter_mode filter = CU_TR_FILTER_MODE_POINT) {
    CUDA_TEXTURE_DESC made = {};
    made.flags = flags;
    made.filterMode = filter;
    return made;
  }
  static CUDA_RESOURCE_VIEW_DESC viewed(CUresourceViewFormat format, std::size_t width = 16,
                                        std::size_t height = 8) {
    CUDA_RESOURCE_VIEW_DESC made = {};
    made.format = format;
    made.width = width;
    made.height = height;
    return made;
  }
  // Named as the call that they make, so that the fidelity page counts its statements.
  CUresult cuTexObjectCreate(const CUDA_RESOURCE_DESC &resource, const CUDA_TEXTURE_DESC &sampling = {}) {
    return driver().cuTexObjectCreate(&texture_out, &resource, &sampling, nullptr);
  }
  CUresult cuTexObjectCreate(const CUDA_RESOURCE_DESC &resource, const CUDA_RESOURCE_VIEW_DESC &view) {
    const CUDA_TEXTURE_DESC sampling = sampled(kNormalized);
    return driver().cuTexObjectCreate(&texture_out, &resource, &sampling, &view);
  }

  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC sampling = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
};

// ---- Arguments ----

STATEMENT(Textures, cuTexObjectCreate_needs_a_place,
          (resource = plain(), driver().cuTexObjectCreate(nullptr, &resource, &sampling, nullptr)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, cuTexObjectCreate_needs_a_resource,
          driver().cuTexObjectCreate(&texture_out, nullptr, &sampling, nullptr), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, cuTexObjectCreate_needs_a_sampling,
          (resource = plain(), driver().cuTexObjectCreate(&texture_out, &resource, nullptr, nullptr)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_an_array, cuTexObjectCreate(plain()), CUDA_SUCCESS)
STATEMENT(Textures, Of_no_array, cuTexObjectCreate(of(CUarray{})), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, With_resource_flags,
          (resource = plain(), resource.flags = 1, cuTexObjectCreate(resource)), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, With_unknown_flags, cuTexObjectCreate(plain(), sampled(0x80)), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_levels_with_normalized_coordinates, cuTexObjectCreate(levels(), sampled(kNormalized)),
          CUDA_SUCCESS)
STATEMENT(Textures, Of_levels_without_normalized_coordinates, cuTexObjectCreate(levels(), sampled(0)),
          CUDA_SUCCESS)
STATEMENT(Textures, Of_one_level,
          (driver().cuMipmappedArrayGetLevel(&level_out, mipmapped(shape(16, 8, 0, kFloat), 3), 1),
           cuTexObjectCreate(of(level_out))),
          CUDA_SUCCESS)
STATEMENT(Textures, Seamless_of_no_cubemap, cuTexObjectCreate(plain(), sampled(CU_TRSF_SEAMLESS_CUBEMAP)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Seamless_of_a_cubemap,
          cuTexObjectCreate(of(array(shape(8, 8, 6, kFloat, 1, CUDA_ARRAY3D_CUBEMAP))),
                            sampled(CU_TRSF_SEAMLESS_CUBEMAP)),
          CUDA_SUCCESS)

STATEMENT(Textures, Of_linear_memory, cuTexObjectCreate(linear(4096)), CUDA_SUCCESS)
STATEMENT(Textures, Of_no_linear_memory, cuTexObjectCreate(linear(0)), CUDA_SUCCESS)
STATEMENT(Textures, Of_more_linear_memory_than_the_limit, cuTexObjectCreate(linear(std::size_t{1} << 40)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_misaligned_linear_memory, cuTexObjectCreate(linear(64, 4)), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_linear_memory_with_three_channels, cuTexObjectCreate(linear(4096, 0, kFloat, 3)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_linear_memory_at_no_address,
          (resource = linear(64), resource.res.linear.devPtr = 0, cuTexObjectCreate(resource)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_linear_memory_with_a_view,
          cuTexObjectCreate(linear(4096), viewed(CU_RES_VIEW_FORMAT_NONE)), CUDA_SUCCESS)

STATEMENT(Textures, Of_pitched_memory, cuTexObjectCreate(pitch(16, 8, 64)), CUDA_SUCCESS)
STATEMENT(Textures, Of_pitched_memory_of_no_width, cuTexObjectCreate(pitch(0, 8, 64)), CUDA_SUCCESS)
STATEMENT(Textures, Of_pitched_memory_of_no_height, cuTexObjectCreate(pitch(16, 0, 64)), CUDA_SUCCESS)
STATEMENT(Textures, Of_pitched_memory_wider_than_the_pitch, cuTexObjectCreate(pitch(17, 8, 64)), CUDA_SUCCESS)
STATEMENT(Textures, Of_pitched_memory_with_a_misaligned_pitch, cuTexObjectCreate(pitch(16, 8, 68)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_misaligned_pitched_memory, cuTexObjectCreate(pitch(16, 8, 64, 4)),
          CUDA_ERROR_INVALID_VALUE)

STATEMENT(Textures, Floats_with_linear_filtering,
          cuTexObjectCreate(plain(), sampled(0, CU_TR_FILTER_MODE_LINEAR)), CUDA_SUCCESS)
STATEMENT(Textures, Normalized_integers_with_linear_filtering,
          cuTexObjectCreate(of(array(shape(16, 8))), sampled(0, CU_TR_FILTER_MODE_LINEAR)), CUDA_SUCCESS)
STATEMENT(Textures, Integers_with_linear_filtering,
          cuTexObjectCreate(of(array(shape(16, 8))), sampled(kInteger, CU_TR_FILTER_MODE_LINEAR)),
          CUDA_SUCCESS)

STATEMENT(Textures, With_a_view_of_the_same_format,
          cuTexObjectCreate(plain(), viewed(CU_RES_VIEW_FORMAT_FLOAT_1X32)), CUDA_SUCCESS)
STATEMENT(Textures, With_a_view_of_integers, cuTexObjectCreate(plain(), viewed(CU_RES_VIEW_FORMAT_UINT_4X8)),
          CUDA_SUCCESS)
STATEMENT(Textures, With_a_view_of_another_size,
          cuTexObjectCreate(plain(), viewed(CU_RES_VIEW_FORMAT_FLOAT_1X32, 8)), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, With_a_view_of_a_level_that_an_array_has_not,
          (view = viewed(CU_RES_VIEW_FORMAT_FLOAT_1X32), view.lastMipmapLevel = 1,
           cuTexObjectCreate(plain(), view)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, With_a_view_of_some_levels,
          (view = viewed(CU_RES_VIEW_FORMAT_FLOAT_1X32), view.firstMipmapLevel = 1, view.lastMipmapLevel = 2,
           cuTexObjectCreate(levels(), view)),
          CUDA_SUCCESS)
STATEMENT(Textures, With_a_view_without_a_format, cuTexObjectCreate(plain(), viewed(CU_RES_VIEW_FORMAT_NONE)),
          CUDA_ERROR_INVALID_VALUE)

STATEMENT(Textures, With_a_view_of_a_size_beyond_32_bits,
          cuTexObjectCreate(plain(), viewed(CU_RES_VIEW_FORMAT_FLOAT_1X32, (std::size_t{1} << 32) + 16)),
          CUDA_SUCCESS)
STATEMENT(Textures, With_a_view_of_more_levels_than_there_are,
          (view = viewed(CU_RES_VIEW_FORMAT_FLOAT_1X32), view.lastMipmapLevel = 16,
           cuTexObjectCreate(levels(), view)),
          CUDA_SUCCESS)
STATEMENT(Textures, With_a_reserved_member_of_the_view,
          (view = viewed(CU_RES_VIEW_FORMAT_FLOAT_1X32), view.reserved[15] = 1,
           cuTexObjectCreate(plain(), view)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, With_a_reserved_member_of_the_sampling,
          (sampling.reserved[11] = 1, cuTexObjectCreate(plain(), sampling)), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, Of_linear_memory_at_an_address_of_no_memory,
          (resource = linear(4096), resource.res.linear.devPtr = 512, cuTexObjectCreate(resource)),
          CUDA_SUCCESS)
STATEMENT(Textures, Of_pitched_memory_at_an_address_of_no_memory,
          (resource = pitch(16, 8, 64), resource.res.pitch2D.devPtr = 512, cuTexObjectCreate(resource)),
          CUDA_SUCCESS)
STATEMENT(Textures, Of_linear_memory_with_an_invalid_address_mode,
          (sampling.addressMode[1] = static_cast<CUaddress_mode>(16),
           cuTexObjectCreate(linear(4096), sampling)),
          CUDA_SUCCESS)
STATEMENT(Textures, Of_an_array_with_an_invalid_address_mode,
          (sampling.addressMode[1] = static_cast<CUaddress_mode>(16), cuTexObjectCreate(plain(), sampling)),
          CUDA_ERROR_INVALID_VALUE)

// ---- Handles ----

STATEMENT(Textures, cuTexObjectDestroy_takes_null, driver().cuTexObjectDestroy(0), CUDA_SUCCESS)
STATEMENT(Textures, cuTexObjectGetResourceDesc_needs_a_texture,
          driver().cuTexObjectGetResourceDesc(&resource, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, cuTexObjectGetTextureDesc_needs_a_texture,
          driver().cuTexObjectGetTextureDesc(&sampling, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Textures, cuTexObjectGetResourceViewDesc_needs_a_texture,
          driver().cuTexObjectGetResourceViewDesc(&view, 0), CUDA_ERROR_INVALID_VALUE)

TEST_F(Textures, Return_their_descriptors) {
  const CUDA_RESOURCE_DESC wanted = plain();
  CUDA_TEXTURE_DESC how = sampled(kNormalized, CU_TR_FILTER_MODE_LINEAR);
  how.addressMode[1] = CU_TR_ADDRESS_MODE_MIRROR;
  const CUtexObject made = texture(wanted, how);
  EXPECT_ANSWER(driver().cuTexObjectGetResourceDesc(&resource, made), CUDA_SUCCESS);
  EXPECT_EQ(resource.res.array.hArray, wanted.res.array.hArray);
  EXPECT_ANSWER(driver().cuTexObjectGetTextureDesc(&sampling, made), CUDA_SUCCESS);
  EXPECT_VALUE(sampling.flags, kNormalized);
  EXPECT_VALUE(static_cast<int>(sampling.filterMode), CU_TR_FILTER_MODE_LINEAR);
  EXPECT_VALUE(static_cast<int>(sampling.addressMode[1]), CU_TR_ADDRESS_MODE_MIRROR);
  EXPECT_ANSWER(driver().cuTexObjectGetResourceDesc(nullptr, made), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuTexObjectGetTextureDesc(nullptr, made), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, Without_a_view_return_an_empty_one) {
  EXPECT_ANSWER(driver().cuTexObjectGetResourceViewDesc(&view, texture(plain())), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(view.format), CU_RES_VIEW_FORMAT_NONE);
  EXPECT_VALUE(view.width, std::size_t{0});
}

TEST_F(Textures, Return_their_view) {
  NEED(cuTexObjectCreate(plain(), viewed(CU_RES_VIEW_FORMAT_UINT_4X8)));
  EXPECT_ANSWER(driver().cuTexObjectGetResourceViewDesc(&view, texture_out), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(view.format), CU_RES_VIEW_FORMAT_UINT_4X8);
}

TEST_F(Textures, Without_a_context) {
  const CUDA_RESOURCE_DESC wanted = plain();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuTexObjectCreate(&texture_out, &wanted, &sampling, nullptr),
                CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSetCurrent(context));
}

// ---- Fetches by kernels ----

std::vector<unsigned char> floats(std::size_t count) {
  std::vector<unsigned char> bytes(4 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + 4 * i, &value, sizeof value);
  }
  return bytes;
}

constexpr const char *kFetch2D = "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [object, {x, y}];";

TEST_F(Textures, Of_an_array_are_read_by_kernels) {
  const CUarray plane = array(shape(16, 8, 0, kFloat));
  put(plane, 64, 8, 1, floats(128));
  const CUtexObject made = texture(of(plane), sampled(0, CU_TR_FILTER_MODE_LINEAR));
  EXPECT_VALUE(fetched(kFetch2D, made, 3.5f, 2.5f), "35");
  EXPECT_VALUE(fetched(kFetch2D, made, 3.75f, 2.5f), "35.25");
  EXPECT_VALUE(fetched(kFetch2D, made, 3.5f, 3.0f), "43");
  EXPECT_VALUE(fetched(kFetch2D, made, 100.0f, 100.0f),
               "127");  // without normalized coordinates, wrap is clamp
}

TEST_F(Textures, Of_linear_memory_are_read_by_kernels) {
  const CUDA_RESOURCE_DESC some = linear(64);
  put(Kind::device, some.res.linear.devPtr, floats(32));
  const CUtexObject made = texture(some);
  constexpr const char *kFetch = "cvt.rzi.s32.f32 i, x; tex.1d.v4.f32.s32 {f0, f1, f2, f3}, [object, {i}];";
  EXPECT_VALUE(fetched(kFetch, made, 7, 0), "7");
}

TEST_F(Textures, Of_pitched_memory_are_read_by_kernels) {
  const CUDA_RESOURCE_DESC some = pitch(8, 4, 64);
  put(Kind::device, some.res.pitch2D.devPtr, floats(64));
  EXPECT_VALUE(fetched(kFetch2D, texture(some), 3.0f, 2.0f), "35");
}

TEST_F(Textures, Of_bytes_are_normalized_unless_read_as_integers) {
  const CUarray line = array(shape(4));
  put(line, 4, 1, 1, {0, 51, 255, 7});
  EXPECT_VALUE(fetched("tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [object, {x}];", texture(of(line)), 1, 0), "0.2");
  EXPECT_VALUE(fetched("tex.1d.v4.u32.f32 {i, j, j, j}, [object, {x}]; cvt.rn.f32.u32 f0, i;",
                       texture(of(line), sampled(kInteger)), 3, 0),
               "7");
}

TEST_F(Textures, Of_levels_are_read_by_kernels) {
  const CUmipmappedArray whole = mipmapped(shape(4, 4, 0, kFloat), 2);
  CUarray level = nullptr;
  NEED(driver().cuMipmappedArrayGetLevel(&level, whole, 1));
  put(level, 8, 2, 1, floats(4));
  CUDA_TEXTURE_DESC how = sampled(kNormalized);
  how.maxMipmapLevelClamp = 1;
  EXPECT_VALUE(fetched("tex.level.2d.v4.f32.f32 {f0, f1, f2, f3}, [object, {x, y}], 0f3f800000;",
                       texture(of(whole), how), 0.75f, 0.25f),
               "1");
}

constexpr const char *kFetch1D = "tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [object, {x}];";

TEST_F(Textures, Are_read_by_kernels_that_were_launched_before_their_end) {
  const CUarray line = array(shape(8, 0, 0, kFloat));
  put(line, 32, 1, 1, floats(8));
  NEED(cuTexObjectCreate(of(line)));
  EXPECT_VALUE(
      fetched_after(kFetch1D, texture_out, 5.5f,
                    [this] { EXPECT_ANSWER(driver().cuTexObjectDestroy(texture_out), CUDA_SUCCESS); }),
      "5");
  texture_out = 0;
}

// The end of the array waits for the kernel.
TEST_F(Textures, Are_read_by_kernels_that_were_launched_before_the_end_of_their_array) {
  CUarray line = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR how = shape(8, 0, 0, kFloat);
  NEED(driver().cuArray3DCreate(&line, &how));
  put(line, 32, 1, 1, floats(8));
  EXPECT_VALUE(fetched_after(kFetch1D, texture(of(line)), 5.5f,
                             [&] { EXPECT_ANSWER(driver().cuArrayDestroy(line), CUDA_SUCCESS); }),
               "5");
}

TEST_F(Textures, Have_extents_for_queries_of_surfaces) {
  const CUtexObject made = texture(plain());
  expect_extents("suq", made);
}

}  // namespace
}  // namespace conformance
