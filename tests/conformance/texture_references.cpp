// SPDX-License-Identifier: Apache-2.0
// Texture and surface references, which are deprecated.
#include <array>
#include <cstring>

#include "images.hpp"
#include "kernels.hpp"

namespace conformance {
namespace {

const std::string kReferences = ".visible .global .texref image;\n.visible .global .surfref target;\n";

class TextureReferences : public WithImages {
 protected:
  void SetUp() override {
    WithImages::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    module = WithImages::load(kHeader + kReferences + R"(
.visible .entry fetch(.param .f32 at, .param .u64 to) {
  .reg .f32 f<4>, x; .reg .b64 out;
  ld.param.f32 x, [at]; ld.param.u64 out, [to];
  tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [image, {x}];
  st.global.f32 [out], f0;
  ret;
}
.visible .entry store(.param .f32 value, .param .u64 to) {
  .reg .f32 x;
  ld.param.f32 x, [value];
  sust.b.1d.b32.trap [target, {4}], {x};
  ret;
}
)");
    NEED(driver().cuModuleGetTexRef(&reference, module, "image"));
    NEED(driver().cuModuleGetSurfRef(&target, module, "target"));
  }

 public:
  CUfunction kernel(const char *name) {
    CUfunction function = nullptr;
    NEED(driver().cuModuleGetFunction(&function, module, name));
    return function;
  }
  float launch(const char *name, float value) {
    CUfunction function = kernel(name);
    CUdeviceptr out = memory();
    void *arguments[] = {&value, &out};
    NEED(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    float result = 0;
    NEED(driver().cuMemcpyDtoH(&result, out, sizeof result));
    return result;
  }
  CUarray line() { return array(shape(4, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST)); }

  CUmodule module = nullptr;
  CUtexref reference = nullptr, made = nullptr;
  CUsurfref target = nullptr;
  CUarray found = nullptr;
  CUmipmappedArray found_levels = nullptr;
  std::array<float, 4> color = {};
};

std::vector<unsigned char> floats(const std::vector<float> &values) {
  std::vector<unsigned char> bytes(4 * values.size());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

STATEMENT(TextureReferences, Of_another_name_are_not_found, driver().cuModuleGetTexRef(&made, module, "none"),
          CUDA_ERROR_NOT_FOUND)
STATEMENT(TextureReferences, Surface_references_of_another_name_are_not_found,
          driver().cuModuleGetSurfRef(&target, module, "image"), CUDA_ERROR_NOT_FOUND)
STATEMENT(TextureReferences, That_are_not_bound_have_no_address,
          driver().cuTexRefGetAddress(&pointer, reference), CUDA_ERROR_INVALID_VALUE)
STATEMENT(TextureReferences, That_are_not_bound_have_no_array, driver().cuTexRefGetArray(&found, reference),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(TextureReferences, That_are_not_bound_have_no_mipmapped_array,
          driver().cuTexRefGetMipmappedArray(&found_levels, reference), CUDA_ERROR_INVALID_VALUE)
STATEMENT(TextureReferences, Surface_references_that_are_not_bound_have_no_array,
          driver().cuSurfRefGetArray(&found, target), CUDA_ERROR_INVALID_VALUE)
STATEMENT(TextureReferences, Are_bound_to_an_array_with_its_format,
          driver().cuTexRefSetArray(reference, line(), CU_TRSA_OVERRIDE_FORMAT), CUDA_SUCCESS)
STATEMENT(TextureReferences, Are_bound_to_an_array_without_its_format,
          driver().cuTexRefSetArray(reference, line(), 0), CUDA_SUCCESS)
STATEMENT(TextureReferences, Surface_references_are_bound_without_flags,
          driver().cuSurfRefSetArray(target, line(), 1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(TextureReferences, Surface_references_need_an_array_for_surfaces,
          driver().cuSurfRefSetArray(target, array(shape(4)), 0), CUDA_ERROR_INVALID_VALUE)

STATEMENT(TextureReferences, Keep_any_address_mode,
          driver().cuTexRefSetAddressMode(reference, 0, static_cast<CUaddress_mode>(5)), CUDA_SUCCESS)
STATEMENT(TextureReferences, Keep_any_filter_mode,
          driver().cuTexRefSetFilterMode(reference, static_cast<CUfilter_mode>(2)), CUDA_SUCCESS)
STATEMENT(TextureReferences, Have_a_valid_filter_mode_between_levels,
          driver().cuTexRefSetMipmapFilterMode(reference, static_cast<CUfilter_mode>(2)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(TextureReferences, Keep_flags_without_a_name, driver().cuTexRefSetFlags(reference, 0x1f),
          CUDA_SUCCESS)
STATEMENT(TextureReferences, Keep_any_format,
          driver().cuTexRefSetFormat(reference, static_cast<CUarray_format>(4), 1), CUDA_SUCCESS)
STATEMENT(TextureReferences, May_have_no_channel,
          driver().cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 0), CUDA_SUCCESS)
STATEMENT(TextureReferences, Have_never_three_channels,
          driver().cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE)
STATEMENT(TextureReferences, Are_bound_to_an_address_of_no_memory,
          driver().cuTexRefSetAddress(&size, reference, 512, 64), CUDA_SUCCESS)
STATEMENT(TextureReferences, That_a_program_created_are_no_parameter,
          (NEED(driver().cuTexRefCreate(&made)),
           driver().cuParamSetTexRef(kernel("fetch"), CU_PARAM_TR_DEFAULT, made)),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(TextureReferences, Clamp_addresses_by_default) {
  NEED(driver().cuTexRefCreate(&made));
  CUaddress_mode mode = CU_TR_ADDRESS_MODE_WRAP;
  EXPECT_ANSWER(driver().cuTexRefGetAddressMode(&mode, made, 1), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(mode), CU_TR_ADDRESS_MODE_CLAMP);
}

TEST_F(TextureReferences, Return_an_offset_although_their_memory_is_too_large) {
  EXPECT_ANSWER(driver().cuTexRefSetAddress(&size, reference, memory() + 4, std::size_t{1} << 50),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(size, std::size_t{4});
}

TEST_F(TextureReferences, Of_pitched_memory_have_extents_of_32_bits_and_any_format) {
  CUDA_ARRAY_DESCRIPTOR plane = {};
  plane.Width = (std::size_t{1} << 32) + 4;
  plane.Height = (std::size_t{1} << 32) + 4;
  plane.Format = static_cast<CUarray_format>(4);
  plane.NumChannels = 16;
  EXPECT_ANSWER(driver().cuTexRefSetAddress2D(reference, &plane, 0, 64), CUDA_SUCCESS);
  plane.NumChannels = 3;
  EXPECT_ANSWER(driver().cuTexRefSetAddress2D(reference, &plane, 0, 64), CUDA_SUCCESS);
}

TEST_F(TextureReferences, Are_bound_to_a_mipmapped_array_without_its_format) {
  const CUmipmappedArray some = mipmapped(shape(16, 8, 0, CU_AD_FORMAT_FLOAT), 2);
  EXPECT_ANSWER(driver().cuTexRefSetMipmappedArray(reference, some, 0), CUDA_SUCCESS);
}

TEST_F(TextureReferences, Return_what_was_set) {
  EXPECT_ANSWER(driver().cuTexRefSetFlags(reference, CU_TRSF_READ_AS_INTEGER), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefGetFlags(&flags, reference), CUDA_SUCCESS);
  EXPECT_VALUE(flags, unsigned{CU_TRSF_READ_AS_INTEGER});
  EXPECT_ANSWER(driver().cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
  CUfilter_mode filter = CU_TR_FILTER_MODE_POINT;
  EXPECT_ANSWER(driver().cuTexRefGetFilterMode(&filter, reference), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(filter), CU_TR_FILTER_MODE_LINEAR);
  EXPECT_ANSWER(driver().cuTexRefSetAddressMode(reference, 1, CU_TR_ADDRESS_MODE_BORDER), CUDA_SUCCESS);
  CUaddress_mode mode = CU_TR_ADDRESS_MODE_WRAP;
  EXPECT_ANSWER(driver().cuTexRefGetAddressMode(&mode, reference, 1), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(mode), CU_TR_ADDRESS_MODE_BORDER);
  EXPECT_ANSWER(driver().cuTexRefSetFormat(reference, CU_AD_FORMAT_SIGNED_INT16, 2), CUDA_SUCCESS);
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  EXPECT_ANSWER(driver().cuTexRefGetFormat(&format, &number, reference), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(format), CU_AD_FORMAT_SIGNED_INT16);
  EXPECT_VALUE(number, 2);
  EXPECT_ANSWER(driver().cuTexRefSetMipmapLevelBias(reference, 1.5f), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefGetMipmapLevelBias(&milliseconds, reference), CUDA_SUCCESS);
  EXPECT_VALUE(text_of(milliseconds), "1.5");
  EXPECT_ANSWER(driver().cuTexRefSetMipmapLevelClamp(reference, 0.5f, 2.5f), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefGetMipmapLevelClamp(&color[0], &color[1], reference), CUDA_SUCCESS);
  EXPECT_VALUE(text_of(color[1]), "2.5");
  EXPECT_ANSWER(driver().cuTexRefSetMipmapFilterMode(reference, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefGetMipmapFilterMode(&filter, reference), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefSetMaxAnisotropy(reference, 4), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefGetMaxAnisotropy(&number, reference), CUDA_SUCCESS);
  EXPECT_VALUE(number, 4);
  std::array<float, 4> wanted = {1, 2, 3, 4};
  EXPECT_ANSWER(driver().cuTexRefSetBorderColor(reference, wanted.data()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefGetBorderColor(color.data(), reference), CUDA_SUCCESS);
  EXPECT_VALUE(text_of(color[3]), "4");
}

TEST_F(TextureReferences, Of_an_array_are_read_by_kernels) {
  const CUarray some = line();
  put(some, 16, 1, 1, floats({1, 2, 3, 4}));
  NEED(driver().cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
  NEED(driver().cuTexRefSetArray(reference, some, CU_TRSA_OVERRIDE_FORMAT));
  EXPECT_ANSWER(driver().cuTexRefGetArray(&found, reference), CUDA_SUCCESS);
  EXPECT_EQ(found, some);
  EXPECT_VALUE(text_of(launch("fetch", 2.0f)), "2.5");
}

TEST_F(TextureReferences, Of_linear_memory_have_an_address) {
  const CUdeviceptr some = memory();
  NEED(driver().cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 1));
  EXPECT_ANSWER(driver().cuTexRefSetAddress(&size, reference, some, 64), CUDA_SUCCESS);
  EXPECT_VALUE(size, std::size_t{0});
  EXPECT_ANSWER(driver().cuTexRefGetAddress(&pointer, reference), CUDA_SUCCESS);
  EXPECT_EQ(pointer, some);
}

TEST_F(TextureReferences, Of_pitched_memory_need_its_alignment) {
  CUDA_ARRAY_DESCRIPTOR plane = {};
  plane.Width = plane.Height = 4;
  plane.Format = CU_AD_FORMAT_FLOAT;
  plane.NumChannels = 1;
  const CUdeviceptr some = memory();
  EXPECT_ANSWER(driver().cuTexRefSetAddress2D(reference, &plane, some, 64), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefSetAddress2D(reference, &plane, some + 4, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuTexRefSetAddress2D(reference, &plane, some, 66), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureReferences, Surface_references_are_written_by_kernels) {
  const CUarray some = line();
  put(some, 16, 1, 1, floats({1, 2, 3, 4}));
  NEED(driver().cuSurfRefSetArray(target, some, 0));
  EXPECT_ANSWER(driver().cuSurfRefGetArray(&found, target), CUDA_SUCCESS);
  EXPECT_EQ(found, some);
  launch("store", 9);
  EXPECT_EQ(take(some, 16, 1, 1), floats({1, 9, 3, 4}));
}

TEST_F(TextureReferences, Are_created_and_destroyed) {
  EXPECT_ANSWER(driver().cuTexRefCreate(&made), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefSetFlags(made, CU_TRSF_NORMALIZED_COORDINATES), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTexRefDestroy(made), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance
