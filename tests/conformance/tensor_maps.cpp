// SPDX-License-Identifier: Apache-2.0
// Tensor maps. The documentation of the driver API, section Tensor Map Object Management, names the limits;
// an H200 does not keep to all of them.
#include "kernels.hpp"

#if CUDA_VERSION >= 12000

namespace conformance {
namespace {

// The parameters of a map of 64 x 8 32-bit elements. Its member functions have the names of the entry points
// that they call, because the text of a statement must contain the name of the entry point.
class TensorMaps : public OnModule {
 public:
  void SetUp() override {
    OnModule::SetUp();
    if (IsSkipped()) return;
    int major = 0;
    NEED(driver().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    if (major < 9) GTEST_SKIP() << "the device has no tensor maps";
  }
  CUresult cuTensorMapEncodeTiled() {
    return driver().cuTensorMapEncodeTiled(out, type, rank, address, dimensions, strides, box, steps,
                                           interleave, swizzle, promotion, fill);
  }
  CUresult cuTensorMapEncodeIm2col() {
    return driver().cuTensorMapEncodeIm2col(&map, type, rank, address, dimensions, strides, lower, upper,
                                            channels, pixels, steps, interleave, swizzle, promotion, fill);
  }
  void make_4d() {
    rank = 4;
    dimensions[2] = dimensions[3] = 2;
    strides[1] = strides[2] = 4096;
  }

  CUtensorMap map{};
  CUtensorMap *out = &map;
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  cuuint32_t rank = 2;
  void *address = reinterpret_cast<void *>(0x10000);
  cuuint64_t dimensions[5] = {64, 8, 1, 1, 1}, strides[4] = {256, 2048, 2048, 2048};
  cuuint32_t box[5] = {16, 4, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  int lower[3] = {}, upper[3] = {};
  cuuint32_t channels = 16, pixels = 8;
};

TEST_F(TensorMaps, Of_a_tile_are_encoded) { EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_SUCCESS); }
TEST_F(TensorMaps, Of_one_dimension_need_no_strides) {
  rank = 1;
  EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_SUCCESS);
}

// A test of a parameter that an encoding refuses.
#define REFUSED(name, change)                                          \
  TEST_F(TensorMaps, name) {                                           \
    change;                                                            \
    EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_ERROR_INVALID_VALUE); \
  }
REFUSED(Need_a_place, out = nullptr)
REFUSED(Have_a_known_type, type = static_cast<CUtensorMapDataType>(99))
REFUSED(Have_a_dimension, rank = 0)
REFUSED(Have_at_most_five_dimensions, rank = 6)
REFUSED(Have_an_address_of_16_bytes, address = reinterpret_cast<void *>(0x10008))
REFUSED(Have_dimensions_with_elements, dimensions[1] = 0)
REFUSED(Have_dimensions_of_at_most_32_bits, dimensions[1] = (1ull << 32) + 1)
REFUSED(Have_strides_of_16_bytes, strides[0] = 264)
REFUSED(Have_strides_below_40_bits, strides[0] = 1ull << 40)
REFUSED(Have_boxes_with_elements, box[1] = 0)
REFUSED(Have_boxes_of_at_most_256_elements, box[1] = 257)
REFUSED(Have_boxes_of_16_bytes, box[0] = 6)
REFUSED(Have_steps, steps[1] = 0)
REFUSED(Have_steps_of_at_most_8, steps[1] = 9)
REFUSED(Have_a_step_in_the_first_dimension, steps[0] = 99)
REFUSED(Have_boxes_of_at_most_228_KiB, box[0] = box[1] = 256)
REFUSED(Have_addresses_below_57_bits, address = reinterpret_cast<void *>(1ull << 57))
REFUSED(Have_a_known_interleave, interleave = static_cast<CUtensorMapInterleave>(9))
REFUSED(Interleave_at_least_three_dimensions, interleave = CU_TENSOR_MAP_INTERLEAVE_16B)
REFUSED(Have_a_known_swizzle, swizzle = static_cast<CUtensorMapSwizzle>(99))
REFUSED(Have_boxes_within_the_swizzle, swizzle = CU_TENSOR_MAP_SWIZZLE_32B)
REFUSED(Have_a_known_promotion, promotion = static_cast<CUtensorMapL2promotion>(9))
REFUSED(Have_a_known_fill, fill = static_cast<CUtensorMapFloatOOBfill>(9))
REFUSED(Of_integers_are_not_filled_with_NaN, fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)

TEST_F(TensorMaps, Need_no_alignment) {
  alignas(64) unsigned char place[256];
  out = reinterpret_cast<CUtensorMap *>(place + 4);
  EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_SUCCESS);
}
TEST_F(TensorMaps, Of_floats_are_filled_with_NaN) {
  type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_SUCCESS);
}
TEST_F(TensorMaps, Interleaved_by_32_bytes_have_such_addresses) {
  make_4d();
  interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
  EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_SUCCESS);
  swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_SUCCESS);
  address = reinterpret_cast<void *>(0x10010);
  EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(TensorMaps, Are_encoded_up_to_the_refused_parameter) {
  promotion = static_cast<CUtensorMapL2promotion>(9);
  EXPECT_ANSWER(cuTensorMapEncodeTiled(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(map.opaque[0], 0x10000u);
}
TEST_F(TensorMaps, Of_pixels_have_three_dimensions) {
  EXPECT_ANSWER(cuTensorMapEncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
  make_4d();
  EXPECT_ANSWER(cuTensorMapEncodeIm2col(), CUDA_SUCCESS);
}
TEST_F(TensorMaps, Of_pixels_have_offsets_in_range) {
  make_4d();
  lower[1] = -129;
  EXPECT_ANSWER(cuTensorMapEncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
  lower[1] = -128;
  upper[0] = 127;
  EXPECT_ANSWER(cuTensorMapEncodeIm2col(), CUDA_SUCCESS);
  upper[0] = 128;
  EXPECT_ANSWER(cuTensorMapEncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(TensorMaps, Of_pixels_have_limits) {
  make_4d();
  channels = 257;
  EXPECT_ANSWER(cuTensorMapEncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
  channels = 16;
  pixels = 1025;
  EXPECT_ANSWER(cuTensorMapEncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
}
#if CUDA_VERSION >= 12080
// The device needs no compute capability of 10.0.
TEST_F(TensorMaps, Of_wide_pixels_are_encoded) {
  make_4d();
  const auto encode = [&](int mode) {
    return driver().cuTensorMapEncodeIm2colWide(
        &map, type, rank, address, dimensions, strides, lower[0], upper[0], channels, pixels, steps,
        interleave, static_cast<CUtensorMapIm2ColWideMode>(mode), swizzle, promotion, fill);
  };
  EXPECT_ANSWER(encode(CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_SUCCESS);
  EXPECT_ANSWER(encode(CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128), CUDA_SUCCESS);
  EXPECT_ANSWER(encode(2), CUDA_ERROR_INVALID_VALUE);
}
#endif
TEST_F(TensorMaps, Get_another_address) {
  NEED(cuTensorMapEncodeTiled());
  EXPECT_ANSWER(driver().cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(0x20000)), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(0x20008)),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuTensorMapReplaceAddress(&map, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(TensorMaps, Get_an_address_whatever_they_contain) {
  EXPECT_ANSWER(driver().cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(0x20010)), CUDA_SUCCESS);
  EXPECT_VALUE(map.opaque[0], 0x20010u);
}
// The real driver crashes.
TEST_F(TensorMaps, Get_another_address_in_a_map) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuTensorMapReplaceAddress(nullptr, reinterpret_cast<void *>(0x20000)),
                CUDA_ERROR_INVALID_VALUE);
}

// Copies a box of 4 x 2 elements at (x, 1) to shared memory, and from there to `out`. A first coordinate that
// is not at a multiple of 16 bytes is an illegal instruction.
const std::string kTile = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x) {
  .reg .pred p; .reg .b32 s, m, v<4>; .reg .b64 t, o, state;
  .shared .align 128 .b8 box[32]; .shared .align 8 .b64 bar;
  mov.u64 t, map; cvta.param.u64 t, t; mov.u32 s, box; mov.u32 m, bar; ld.param.u64 o, [out];
  mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 state, [m], 32;
  ld.param.u32 v0, [x]; mov.u32 v1, 1;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [t, {v0, v1}], [m];
WAIT: mbarrier.try_wait.shared.b64 p, [m], state; @!p bra WAIT;
  ld.shared.v4.u32 {v0, v1, v2, v3}, [s]; st.global.v4.u32 [o], {v0, v1, v2, v3};
  ld.shared.v4.u32 {v0, v1, v2, v3}, [s+16]; st.global.v4.u32 [o+16], {v0, v1, v2, v3};
  ret; }
)";

// A tensor of 8 x 4 counted elements.
class TensorCopies : public TensorMaps {
 public:
  void SetUp() override {
    TensorMaps::SetUp();
    if (IsSkipped()) return;
    NEED(driver().cuModuleLoadData(&module_out, kTile.c_str()));
    NEED(driver().cuModuleGetFunction(&function, module_out, "tile"));
    from = memory(128), to = memory(32);
    for (unsigned i = 0; i < 32; ++i) NEED(driver().cuMemsetD32(from + 4 * i, i, 1));
    address = reinterpret_cast<void *>(static_cast<std::uintptr_t>(from));
    dimensions[0] = 8, dimensions[1] = 4, strides[0] = 32, box[0] = 4, box[1] = 2;
    NEED(cuTensorMapEncodeTiled());
  }
  CUresult copy(int x) { return launch(function, {&map, &to, &x}); }

  CUfunction function = nullptr;
  CUdeviceptr from = 0, to = 0;
};

TEST_F(TensorCopies, Are_of_the_box_that_a_map_describes) {
  EXPECT_ANSWER(copy(4), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 12u);
  EXPECT_VALUE(word(to + 12), 15u);
  EXPECT_VALUE(word(to + 16), 20u);
  NEED(driver().cuModuleUnload(module_out));
}
TEST_F(TensorCopies, Give_zeros_outside_the_tensor) {
  EXPECT_ANSWER(copy(-4), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 0u);
  NEED(driver().cuModuleUnload(module_out));
}
TEST_F(TensorCopies, Begin_at_multiples_of_16_bytes) {
  CUSHIM_IN_A_FRESH_PROCESS();
  EXPECT_ANSWER(copy(2), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

}  // namespace
}  // namespace conformance

#endif
