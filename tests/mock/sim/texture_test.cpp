// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: what the documentation leaves open.
#include <cushim/sim/usage.hpp>

#include <cstring>
#include <memory>
#include <string>

#include "support/machine_fixture.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

CUarray line(CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned channels = 1, std::size_t height = 0,
             std::size_t depth = 0, unsigned flags = CUDA_ARRAY3D_SURFACE_LDST) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = test::array_shape(8, height, depth, format, channels, flags);
  CUarray made = nullptr;
  need(driver().cuArray3DCreate(&made, &shape));
  return made;
}

// An array whose elements are all `value`.
CUarray line_of(float value) {
  const CUarray made = line();
  const std::vector<float> values(8, value);
  need(driver().cuMemcpyHtoA(made, 0, values.data(), 32));
  return made;
}

CUDA_RESOURCE_DESC of(CUarray array) {
  CUDA_RESOURCE_DESC made = {};
  made.resType = CU_RESOURCE_TYPE_ARRAY;
  made.res.array.hArray = array;
  return made;
}

CUresult create(CUtexObject &made, const CUDA_RESOURCE_DESC &resource, unsigned flags = 0,
                CUfilter_mode filter = CU_TR_FILTER_MODE_POINT) {
  CUDA_TEXTURE_DESC sampling = {};
  sampling.flags = flags;
  sampling.filterMode = filter;
  return driver().cuTexObjectCreate(&made, &resource, &sampling, nullptr);
}

CUtexObject texture(const CUDA_RESOURCE_DESC &resource) {
  CUtexObject made = 0;
  need(create(made, resource));
  return made;
}

constexpr const char *kCode = R"(.version 7.8
.target sm_52
.address_size 64
.global .texref image;
.visible .entry fetch(.param .u64 handle, .param .u64 to) {
  .reg .f32 f<4>; .reg .b64 object, out;
  ld.param.u64 object, [handle]; ld.param.u64 out, [to];
  tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [object, {0f40600000}];
  st.global.f32 [out], f0;
  ret;
}
.visible .entry store(.param .u64 handle, .param .u64 to) {
  .reg .b64 object;
  ld.param.u64 object, [handle];
  sust.b.1d.b32.trap [object, {32}], {7};
  ret;
}
.visible .entry fetch_reference(.param .u64 handle, .param .u64 to) {
  .reg .f32 f<4>; .reg .b64 out;
  ld.param.u64 out, [to];
  tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [image, {0f40600000}];
  st.global.f32 [out], f0;
  ret;
}
)";

struct Kernels {
  Kernels() { need(driver().cuModuleLoadData(&module, kCode)); }
  void launch(const char *name, unsigned long long handle, CUdeviceptr out, CUstream stream = nullptr) const {
    CUfunction function = nullptr;
    need(driver().cuModuleGetFunction(&function, module, name));
    void *arguments[] = {&handle, &out};
    need(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
  }
  CUmodule module = nullptr;
};

float real_at(CUdeviceptr address) {
  const std::uint32_t word = word_at(address);
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

TEST(Textures, That_were_destroyed_are_read_until_their_descriptor_is_reused) {
  const auto reports = std::make_shared<std::string>();
  Options options;
  options.report = [reports](const std::string &text) { *reports += text; };
  const Running running(options);
  const Kernels kernels;
  const CUDA_RESOURCE_DESC line = of(line_of(1));
  const CUtexObject made = texture(line);
  const CUdeviceptr out = running.memory();
  need(driver().cuTexObjectDestroy(made));
  kernels.launch("fetch", made, out);
  EXPECT_EQ(real_at(out), 1.0f);
  for (int i = 0; i < 4096; ++i) need(driver().cuTexObjectDestroy(texture(line)));
  kernels.launch("fetch", made, out);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(reports->find("the address is not a handle of a texture"), std::string::npos) << *reports;
  EXPECT_EQ(reports->find("nearest allocation"), std::string::npos) << *reports;
}

TEST(Textures, Of_a_destroyed_array_fault_in_kernels) {
  const Running running;
  const Kernels kernels;
  const CUarray array = line_of(1);
  const CUtexObject made = texture(of(array));
  need(driver().cuArrayDestroy(array));
  kernels.launch("fetch", made, running.memory());
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Returns PTX whose kernel stores the answer to a query of an object.
std::string query(const std::string &instruction) {
  return ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry ask(.param .u64 handle, "
         ".param .u64 to) {\n.reg .b64 object, out; .reg .b32 answer;\nld.param.u64 object, [handle]; "
         "ld.param.u64 out, [to];\n" +
         instruction + " answer, [object];\nst.global.b32 [out], answer; ret; }\n";
}

// Measured on an H200, driver 580.
TEST(Textures, Of_two_dimensions_have_no_depth) {
  const Running running;
  Kernels kernels;
  const CUtexObject flat = texture(of(line(CU_AD_FORMAT_FLOAT, 1, 4)));
  const CUtexObject volume = texture(of(line(CU_AD_FORMAT_FLOAT, 1, 4, 3)));
  const CUdeviceptr out = running.memory();
  for (const char *const instruction : {"txq.depth.b32", "suq.depth.b32"}) {
    need(driver().cuModuleLoadData(&kernels.module, query(instruction).c_str()));
    kernels.launch("ask", flat, out);
    EXPECT_EQ(word_at(out), 0u);
    kernels.launch("ask", volume, out);
    EXPECT_EQ(word_at(out), 3u);
  }
}

// Measured on an H200, driver 580.
TEST(Textures, Are_asked_by_handle_for_their_extents_alone) {
  const Running running;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  for (const char *const instruction : {"txq.addr_mode_0.b32", "txq.channel_order.b32", "txq.array_size.b32",
                                        "txq.num_mipmap_levels.b32", "txq.normalized_coords.b32"}) {
    need(driver().cuModuleLoadData(&module, query(instruction).c_str()));
    EXPECT_EQ(driver().cuModuleGetFunction(&kernel, module, "ask"), CUDA_ERROR_NOT_FOUND) << instruction;
  }
  for (const char *const instruction :
       {"suq.channel_order.b32", "suq.array_size.b32", "suq.memory_layout.b32"})
    EXPECT_EQ(driver().cuModuleLoadData(&module, query(instruction).c_str()), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(Textures, Of_an_array_are_read_by_kernels_for_which_its_end_waits) {
  const Running running({.schedule = Schedule::deferred});
  const Kernels kernels;
  const CUarray array = line_of(1);
  const CUdeviceptr out = running.memory();
  kernels.launch("fetch", texture(of(array)), out);
  EXPECT_EQ(driver().cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(real_at(out), 1.0f);
}

TEST(Textures, Are_destroyed_with_their_context) {
  const Running running;
  CUcontext other = nullptr;
  need(driver().cuCtxCreate_v2(&other, 0, 0));
  const CUtexObject made = texture(of(line_of(1)));
  need(driver().cuCtxDestroy(other));
  CUDA_RESOURCE_DESC resource = {};
  EXPECT_EQ(driver().cuTexObjectGetResourceDesc(&resource, made), CUDA_ERROR_INVALID_VALUE);
}

TEST(Textures, That_are_not_destroyed_are_listed) {
  const Running running;
  const Kernels kernels;  // a module with a reference of its own
  const CUDA_RESOURCE_DESC resource = of(line());
  texture(resource);
  CUsurfObject surface = 0;
  need(driver().cuSurfObjectCreate(&surface, &resource));
  CUtexref reference = nullptr;
  need(driver().cuTexRefCreate(&reference));
  std::string alive;
  for (const Usage::Alive &one : running.machine.usage().alive)
    alive += one.what + " " + std::to_string(one.count) + "; ";
  EXPECT_EQ(alive,
            "modules 1; texture objects 1; surface objects 1; texture references 1; memory of arrays 1; ");
}

TEST(Textures, That_are_not_simulated_are_refused) {
  const Running running;
  CUtexObject made = 0;
  EXPECT_EQ(create(made, of(line(static_cast<CUarray_format>(0x91), 4, 8, 0, 0))), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(Textures, Of_cubemaps_may_be_seamless) {
  const Running running;
  CUtexObject made = 0;
  const CUarray cube = line(CU_AD_FORMAT_FLOAT, 1, 8, 6, CUDA_ARRAY3D_CUBEMAP);
  EXPECT_EQ(create(made, of(cube), CU_TRSF_SEAMLESS_CUBEMAP, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
}

// Measured on an H200, driver 580. The kernels' faults are not.
TEST(Textures, Are_created_over_an_address_of_no_memory_and_fault_in_kernels) {
  const Running running;
  const Kernels kernels;
  CUDA_RESOURCE_DESC nowhere = {};
  nowhere.resType = CU_RESOURCE_TYPE_LINEAR;
  nowhere.res.linear = {512, CU_AD_FORMAT_FLOAT, 1, 4096};
  CUtexObject made = 0;
  EXPECT_EQ(create(made, nowhere), CUDA_SUCCESS);
  kernels.launch("fetch", made, running.memory());
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Measured on an H200, driver 580.
TEST(Textures, Need_reserved_members_that_are_0_and_views_with_extents_of_32_bits) {
  const Running running;
  const CUDA_RESOURCE_DESC resource = of(line(CU_AD_FORMAT_FLOAT, 1, 4));
  CUDA_TEXTURE_DESC sampling = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = (std::size_t{1} << 32) + 8;
  view.height = (std::size_t{1} << 32) + 4;
  CUtexObject made = 0;
  EXPECT_EQ(driver().cuTexObjectCreate(&made, &resource, &sampling, &view), CUDA_SUCCESS);
  view.reserved[0] = 1;
  EXPECT_EQ(driver().cuTexObjectCreate(&made, &resource, &sampling, &view), CUDA_ERROR_INVALID_VALUE);
  sampling.reserved[0] = 1;
  EXPECT_EQ(driver().cuTexObjectCreate(&made, &resource, &sampling, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// A mipmapped array of floats, 8 wide.
CUDA_RESOURCE_DESC levels(unsigned count, std::size_t height = 0) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = test::array_shape(8, height, 0, CU_AD_FORMAT_FLOAT);
  CUDA_RESOURCE_DESC made = {};
  made.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  need(driver().cuMipmappedArrayCreate(&made.res.mipmap.hMipmappedArray, &shape, count));
  return made;
}

// Measured on an H200, driver 580.
TEST(Textures, Of_mipmapped_arrays_are_read_with_normalized_coordinates_without_the_flag_for_them) {
  const Running running;
  const CUDA_RESOURCE_DESC resource = levels(1);
  CUarray level = nullptr;
  need(driver().cuMipmappedArrayGetLevel(&level, resource.res.mipmap.hMipmappedArray, 0));
  const float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  need(driver().cuMemcpyHtoA(level, 0, values, sizeof values));
  const CUdeviceptr out = running.memory();
  Kernels().launch("fetch", texture(resource), out);  // at 3.5, which wraps to 0.5
  EXPECT_EQ(real_at(out), 4.0f);
}

TEST(Textures, Of_levels_have_views_of_more_levels_than_there_are) {
  const Running running;
  const CUDA_RESOURCE_DESC resource = levels(2, 8);
  CUDA_TEXTURE_DESC sampling = {};
  sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = view.height = 8;
  view.lastMipmapLevel = ~0u;
  CUtexObject made = 0;
  EXPECT_EQ(driver().cuTexObjectCreate(&made, &resource, &sampling, &view), CUDA_SUCCESS);
  Kernels().launch("fetch", made, running.memory());
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}

// Measured on an H200, driver 580.
TEST(TextureReferences, Keep_modes_formats_and_memory_that_kernels_cannot_read) {
  const Running running;
  const Kernels kernels;
  CUtexref reference = nullptr, made = nullptr;
  need(driver().cuModuleGetTexRef(&reference, kernels.module, "image"));
  std::size_t offset = 0;
  EXPECT_EQ(driver().cuTexRefSetAddress(&offset, reference, 516, 64), CUDA_SUCCESS);
  EXPECT_EQ(offset, 4u);
  EXPECT_EQ(driver().cuTexRefSetAddress(&offset, reference, 520, std::size_t{1} << 50),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(driver().cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuTexRefSetFormat(reference, static_cast<CUarray_format>(4), 1), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuTexRefSetFlags(reference, 0x1f), CUDA_SUCCESS);
  need(driver().cuTexRefCreate(&made));
  CUaddress_mode mode = CU_TR_ADDRESS_MODE_WRAP;
  EXPECT_EQ(driver().cuTexRefGetAddressMode(&mode, made, 1), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_TR_ADDRESS_MODE_CLAMP);
  CUfunction function = nullptr;
  need(driver().cuModuleGetFunction(&function, kernels.module, "fetch"));
  EXPECT_EQ(driver().cuParamSetTexRef(function, CU_PARAM_TR_DEFAULT, made), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuParamSetTexRef(function, CU_PARAM_TR_DEFAULT, reference), CUDA_SUCCESS);
  kernels.launch("fetch_reference", 0, running.memory());
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Measured on an H200, driver 580.
TEST(TextureReferences, Of_pitched_memory_have_extents_of_32_bits_and_any_format) {
  const Running running;
  CUtexref made = nullptr;
  need(driver().cuTexRefCreate(&made));
  CUDA_ARRAY_DESCRIPTOR plane = {(std::size_t{1} << 32) + 4, (std::size_t{1} << 32) + 4,
                                 static_cast<CUarray_format>(4), 16};
  EXPECT_EQ(driver().cuTexRefSetAddress2D(made, &plane, 0, 64), CUDA_SUCCESS);
  plane.NumChannels = 3;
  EXPECT_EQ(driver().cuTexRefSetAddress2D(made, &plane, 0, 64), CUDA_SUCCESS);
}

// Measured on an H200, driver 580.
TEST(TextureReferences, Of_pitched_memory_have_rows_within_the_pitch) {
  const Running running;
  CUtexref made = nullptr;
  need(driver().cuTexRefCreate(&made));
  CUDA_ARRAY_DESCRIPTOR plane = {64, 4, CU_AD_FORMAT_UNSIGNED_INT8, 2};
  EXPECT_EQ(driver().cuTexRefSetAddress2D(made, &plane, running.memory(), 128), CUDA_SUCCESS);
  plane.NumChannels = 3;
  EXPECT_EQ(driver().cuTexRefSetAddress2D(made, &plane, running.memory(), 128), CUDA_ERROR_INVALID_VALUE);
}

TEST(TextureReferences, Are_read_as_they_were_at_the_launch) {
  const Running running({.schedule = Schedule::deferred});
  const Kernels kernels;
  CUtexref reference = nullptr;
  need(driver().cuModuleGetTexRef(&reference, kernels.module, "image"));
  need(driver().cuTexRefSetArray(reference, line_of(1), CU_TRSA_OVERRIDE_FORMAT));
  const CUdeviceptr out = running.memory();
  kernels.launch("fetch_reference", 0, out, running.stream());
  need(driver().cuTexRefSetArray(reference, line_of(2), CU_TRSA_OVERRIDE_FORMAT));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(real_at(out), 1.0f);
}

TEST(TextureReferences, That_are_not_bound_fault_in_kernels) {
  const Running running;
  Kernels().launch("fetch_reference", 0, running.memory());
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(TextureReferences, Are_no_global_variables) {
  const Running running;
  const Kernels kernels;
  CUdeviceptr address = 0;
  std::size_t size = 0;
  EXPECT_EQ(driver().cuModuleGetGlobal(&address, &size, kernels.module, "image"), CUDA_ERROR_NOT_FOUND);
}

TEST(Surfaces, Stores_outside_trap) {
  const Running running;
  const Kernels kernels;
  const CUDA_RESOURCE_DESC resource = of(line());
  CUsurfObject made = 0;
  need(driver().cuSurfObjectCreate(&made, &resource));
  kernels.launch("store", made, 0);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace cushim::sim
