// SPDX-License-Identifier: Apache-2.0
// Tensor maps. No answer here is measured: the source is the documentation of the driver API, section Tensor
// Map Object Management. The content of a map is ptx::TensorMap, an encoding of our own.
#include <algorithm>
#include <cstring>
#include <span>

#include <cushim/ptx/tensor_map.hpp>
#include "api/service.hpp"

#if CUDA_VERSION >= 12000

namespace cushim::sim {
namespace {

using ptx::TensorMap;

// Values of CUtensorMapDataType and CUtensorMapSwizzle that headers before 12.8 do not name.
constexpr int k16U4Align8 = 13, k16U4Align16 = 14, k16U6Align16 = 15, k128Atom64 = 6;

// The bits of an element by CUtensorMapDataType.
constexpr std::uint64_t kElementBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};

// The size in bytes of the lines of a swizzled box by CUtensorMapSwizzle.
constexpr std::uint64_t kSwizzleBytes[] = {0, 32, 64, 128, 128, 128, 128};

bool is_padded(int type) { return type == k16U4Align16 || type == k16U6Align16; }

// The parameters that all encoding calls have.
struct Tensor {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void *address;
  const cuuint64_t *dimensions, *strides;
  const cuuint32_t *element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

void require_map_address(const CUtensorMap *map) {
  require(map != nullptr && reinterpret_cast<std::uintptr_t>(map) % 64 == 0);
}

void require_aligned(const void *address, int type, int interleave) {
  const bool is_wide = interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_padded(type);
  require(reinterpret_cast<std::uintptr_t>(address) % (is_wide ? 32 : 16) == 0);
}

void require_swizzle(int type, int interleave, int swizzle, std::uint64_t inner_elements) {
  require(swizzle >= CU_TENSOR_MAP_SWIZZLE_NONE && swizzle <= k128Atom64);
  require(interleave != CU_TENSOR_MAP_INTERLEAVE_32B || swizzle == CU_TENSOR_MAP_SWIZZLE_32B);
  if (is_padded(type)) {
    require(swizzle != CU_TENSOR_MAP_SWIZZLE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_64B && swizzle != 5);
    require(type == k16U6Align16 || swizzle != k128Atom64);
  }
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && swizzle != CU_TENSOR_MAP_SWIZZLE_NONE)
    require(inner_elements * kElementBits[type] <= kSwizzleBytes[swizzle] * 8);
}

// Requires that the current context's device has at least this compute capability.
void require_capability(Call &call, int major) {
  const Device &device = *call.context().device;
  require(device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= major, CUDA_ERROR_NOT_SUPPORTED);
}

// Checks the common parameters, in their order. `inner`: number of elements of a box in the first dimension.
TensorMap checked(const Tensor &tensor, cuuint32_t least_rank, std::uint64_t inner) {
  const int type = tensor.type, interleave = tensor.interleave;
  require(type >= 0 && type <= k16U6Align16);
  require(interleave >= CU_TENSOR_MAP_INTERLEAVE_NONE && interleave <= CU_TENSOR_MAP_INTERLEAVE_32B);
  require(type != k16U6Align16 || interleave == CU_TENSOR_MAP_INTERLEAVE_NONE);
  const bool is_interleaved = interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
  require(tensor.rank >= (is_interleaved ? 3 : least_rank) && tensor.rank <= 5);
  require_aligned(tensor.address, type, interleave);
  require(tensor.dimensions != nullptr && (tensor.strides != nullptr || tensor.rank == 1));
  require(tensor.element_strides != nullptr);
  TensorMap map;
  map.data_type = static_cast<std::uint8_t>(type);
  map.rank = static_cast<std::uint8_t>(tensor.rank);
  map.interleave = static_cast<std::uint8_t>(interleave);
  map.swizzle = static_cast<std::uint8_t>(tensor.swizzle);
  map.l2_promotion = static_cast<std::uint8_t>(tensor.promotion);
  map.fill = static_cast<std::uint8_t>(tensor.fill);
  map.address = reinterpret_cast<std::uintptr_t>(tensor.address);
  for (cuuint32_t i = 0; i < tensor.rank; ++i) {
    require(tensor.dimensions[i] != 0 && tensor.dimensions[i] <= std::uint64_t{1} << 32);
    map.last[i] = static_cast<std::uint32_t>(tensor.dimensions[i] - 1);
  }
  require(!is_padded(type) || tensor.dimensions[0] % 128 == 0);
  require(type != k16U4Align8 || tensor.dimensions[0] % 2 == 0);
  const std::uint64_t granularity = interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_padded(type) ? 32 : 16;
  for (cuuint32_t i = 0; i + 1 < tensor.rank; ++i) {
    require(tensor.strides[i] % granularity == 0 && tensor.strides[i] < std::uint64_t{1} << 40);
    map.strides[i] = tensor.strides[i];
  }
  for (cuuint32_t i = is_interleaved ? 0 : 1; i < tensor.rank; ++i)
    require(tensor.element_strides[i] != 0 && tensor.element_strides[i] <= 8);
  for (cuuint32_t i = 0; i < tensor.rank; ++i)
    map.element_strides[i] = static_cast<std::uint8_t>(tensor.element_strides[i]);
  require_swizzle(type, interleave, tensor.swizzle, inner);
  require(tensor.promotion >= CU_TENSOR_MAP_L2_PROMOTION_NONE &&
          tensor.promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  require(tensor.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
          (tensor.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA &&
           type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ));
  return map;
}

CUresult written(CUtensorMap *out, const TensorMap &map) {
  static_assert(sizeof map == sizeof *out);
  std::memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

CUresult encode_tiled(Call &call, CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                      const cuuint64_t *dimensions, const cuuint64_t *strides, const cuuint32_t *box,
                      const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill fill) {
  require_capability(call, 9);
  require_map_address(out);
  require(box != nullptr);
  TensorMap map = checked(
      {type, rank, address, dimensions, strides, element_strides, interleave, swizzle, promotion, fill}, 1,
      box[0]);
  for (cuuint32_t i = 0; i < rank; ++i) {
    require(box[i] != 0 && box[i] <= 256);
    map.box[i] = static_cast<std::uint16_t>(box[i]);
  }
  require(interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || box[0] * kElementBits[type] % 128 == 0);
  require(!is_padded(type) || box[0] == 128);
  return written(out, map);
}

// Checks the box of pixels of an im2col map, and stores it.
void set_pixels(TensorMap &map, cuuint32_t channels, cuuint32_t pixels, std::span<const int> lower,
                std::span<const int> upper) {
  // The limit of an offset for 1, 2 and 3 dimensions of pixels.
  constexpr int limits[] = {32768, 128, 16};
  const int limit = limits[lower.size() - 1];
  const auto is_in_range = [limit](int offset) { return offset >= -limit && offset < limit; };
  require(std::all_of(lower.begin(), lower.end(), is_in_range) &&
          std::all_of(upper.begin(), upper.end(), is_in_range));
  require(channels <= 256 && pixels <= 1024 && (!is_padded(map.data_type) || channels == 128));
  std::copy(lower.begin(), lower.end(), map.lower_corner.begin());
  std::copy(upper.begin(), upper.end(), map.upper_corner.begin());
  map.pixels = {static_cast<std::uint16_t>(channels), static_cast<std::uint16_t>(pixels)};
}

CUresult encode_im2col(Call &call, CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                       const cuuint64_t *dimensions, const cuuint64_t *strides, const int *lower,
                       const int *upper, cuuint32_t channels, cuuint32_t pixels,
                       const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill) {
  require_capability(call, 9);
  require_map_address(out);
  TensorMap map = checked(
      {type, rank, address, dimensions, strides, element_strides, interleave, swizzle, promotion, fill}, 3,
      channels);
  require(lower != nullptr && upper != nullptr);
  map.mode = TensorMap::Mode::im2col;
  set_pixels(map, channels, pixels, {lower, rank - 2}, {upper, rank - 2});
  return written(out, map);
}

#if CUDA_VERSION >= 12080
CUresult encode_im2col_wide(Call &call, CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank,
                            void *address, const cuuint64_t *dimensions, const cuuint64_t *strides, int lower,
                            int upper, cuuint32_t channels, cuuint32_t pixels,
                            const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                            CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  require_capability(call, 10);
  require_map_address(out);
  TensorMap map = checked(
      {type, rank, address, dimensions, strides, element_strides, interleave, swizzle, promotion, fill}, 3,
      channels);
  require(mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W || mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128);
  require(swizzle >= CU_TENSOR_MAP_SWIZZLE_64B && swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B);
  map.mode = TensorMap::Mode::im2col_wide;
  map.wide_mode = static_cast<std::uint8_t>(mode);
  const bool counts_pixels = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W;
  set_pixels(map, channels, counts_pixels ? pixels : 0, {&lower, 1}, {&upper, 1});
  return written(out, map);
}
#endif

CUresult replace_address(Call &call, CUtensorMap *out, void *address) {
  require_capability(call, 9);
  require_map_address(out);
  TensorMap map;
  std::memcpy(static_cast<void *>(&map), out, sizeof map);
  require(map.tag == TensorMap::expected_tag);
  require_aligned(address, map.data_type, map.interleave);
  map.address = reinterpret_cast<std::uintptr_t>(address);
  return written(out, map);
}

}  // namespace

void serve_tensor_maps(Service &service) {
  service.serve<"cuTensorMapEncodeTiled", encode_tiled>();
  service.serve<"cuTensorMapEncodeIm2col", encode_im2col>();
#if CUDA_VERSION >= 12080
  service.serve<"cuTensorMapEncodeIm2colWide", encode_im2col_wide>();
#endif
  service.serve<"cuTensorMapReplaceAddress", replace_address>();
}

}  // namespace cushim::sim

#else

namespace cushim::sim {
void serve_tensor_maps(Service &) {}
}  // namespace cushim::sim

#endif
