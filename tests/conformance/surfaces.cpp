// SPDX-License-Identifier: Apache-2.0
// Surface objects.
#include "images.hpp"

namespace conformance {
namespace {

constexpr unsigned kSurface = CUDA_ARRAY3D_SURFACE_LDST;

class Surfaces : public WithImages {
 public:
  CUarray plane() { return array(shape(16, 8, 0, CU_AD_FORMAT_FLOAT, 1, kSurface)); }
  // Named as the call that it makes, so that the fidelity page counts its statements.
  CUresult cuSurfObjectCreate(const CUDA_RESOURCE_DESC &resource) {
    return driver().cuSurfObjectCreate(&surface_out, &resource);
  }
  CUDA_RESOURCE_DESC resource = {};
};

// The real driver crashes.
TEST_F(Surfaces, cuSurfObjectCreate_needs_a_place) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  resource = of(plane());
  EXPECT_ANSWER(driver().cuSurfObjectCreate(nullptr, &resource), CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(Surfaces, cuSurfObjectCreate_needs_a_resource, driver().cuSurfObjectCreate(&surface_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Surfaces, Of_an_array, cuSurfObjectCreate(of(plane())), CUDA_SUCCESS)
STATEMENT(Surfaces, Of_no_array, cuSurfObjectCreate(of(CUarray{})), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Surfaces, Of_an_array_for_textures_only, cuSurfObjectCreate(of(array(shape(16, 8)))), CUDA_SUCCESS)
STATEMENT(Surfaces, Of_a_mipmapped_array,
          cuSurfObjectCreate(of(mipmapped(shape(16, 8, 0, format(1), 1, kSurface), 2))),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Surfaces, Of_a_level,
          (driver().cuMipmappedArrayGetLevel(&level_out,
                                             mipmapped(shape(16, 8, 0, format(1), 1, kSurface), 2), 1),
           cuSurfObjectCreate(of(level_out))),
          CUDA_SUCCESS)
STATEMENT(Surfaces, With_resource_flags,
          (resource = of(plane()), resource.flags = 1, cuSurfObjectCreate(resource)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Surfaces, cuSurfObjectDestroy_takes_null, driver().cuSurfObjectDestroy(0), CUDA_SUCCESS)
STATEMENT(Surfaces, cuSurfObjectGetResourceDesc_needs_a_surface,
          driver().cuSurfObjectGetResourceDesc(&resource, 0), CUDA_ERROR_INVALID_VALUE)

TEST_F(Surfaces, Return_their_resource) {
  const CUarray of_it = plane();
  const CUsurfObject made = surface(of_it);
  EXPECT_ANSWER(driver().cuSurfObjectGetResourceDesc(&resource, made), CUDA_SUCCESS);
  EXPECT_EQ(resource.res.array.hArray, of_it);
  EXPECT_ANSWER(driver().cuSurfObjectGetResourceDesc(nullptr, made), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Surfaces, Are_written_and_read_by_kernels) {
  const CUsurfObject made = surface(plane());
  EXPECT_VALUE(fetched("mov.u32 i, 8; mov.u32 j, 3; sust.b.2d.b32.trap [object, {i, j}], {x};\n"
                       "suld.b.2d.b32.trap {f0}, [object, {i, j}];",
                       made, 5.5f, 0),
               "5.5");
}

TEST_F(Surfaces, Share_the_array_with_textures_and_copies) {
  const CUarray bytes = array(shape(8, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, kSurface));
  put(bytes, 8, 1, 1, {1, 2, 3, 4, 5, 6, 7, 8});
  const CUsurfObject made = surface(bytes);
  EXPECT_VALUE(fetched("mov.u32 i, 4; suld.b.1d.b8.trap {j}, [object, {i}]; cvt.rn.f32.u32 f0, j;\n"
                       "mov.u32 j, 51; sust.b.1d.b8.trap [object, {i}], {j};",
                       made, 0, 0),
               "5");
  EXPECT_EQ(take(bytes, 8, 1, 1), (std::vector<unsigned char>{1, 2, 3, 4, 51, 6, 7, 8}));
  EXPECT_VALUE(fetched("tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [object, {x}];", texture(of(bytes)), 4, 0),
               "0.2");
}

TEST_F(Surfaces, Outside_are_clamped_or_0) {
  const CUsurfObject made = surface(plane());
  EXPECT_VALUE(fetched("mov.u32 i, 60; mov.u32 j, 7; sust.b.2d.b32.trap [object, {i, j}], {x};\n"
                       "mov.u32 i, 400; mov.u32 j, 9; suld.b.2d.b32.clamp {f0}, [object, {i, j}];",
                       made, 2.5f, 0),
               "2.5");
  EXPECT_VALUE(fetched("mov.u32 i, 400; mov.u32 j, 0; sust.b.2d.b32.zero [object, {i, j}], {x};\n"
                       "suld.b.2d.b32.zero {f0}, [object, {i, j}];",
                       made, 2.5f, 0),
               "0");
}

TEST_F(Surfaces, Are_read_by_kernels_that_were_launched_before_their_end) {
  const CUarray line = array(shape(8, 0, 0, CU_AD_FORMAT_FLOAT, 1, kSurface));
  NEED(cuSurfObjectCreate(of(line)));
  NEED(run("mov.u32 i, 20; sust.b.1d.b32.trap [object, {i}], {x};", surface_out, 5, 0));
  EXPECT_VALUE(
      fetched_after("mov.u32 i, 20; suld.b.1d.b32.trap {f0}, [object, {i}];", surface_out, 0,
                    [this] { EXPECT_ANSWER(driver().cuSurfObjectDestroy(surface_out), CUDA_SUCCESS); }),
      "5");
  surface_out = 0;
}

TEST_F(Surfaces, Have_extents_for_queries_of_textures) {
  const CUsurfObject made = surface(plane());
  expect_extents("txq", made);
}

}  // namespace
}  // namespace conformance
