// SPDX-License-Identifier: Apache-2.0
// Tensor maps. The result codes and the order of the checks are measured on an H200 (driver 580.159.04), as
// is the content of a map, also that of a failed call. Element types of 4 and 6 bits and swizzles of other
// atoms, which need compute capability 10.0, are refused as an H200 refuses them.
#include <algorithm>
#include <cstring>
#include <iterator>

#include <cushim/ptx/tensor_map.hpp>
#include "api/service.hpp"

#if CUDA_VERSION >= 12000

namespace cushim::sim {
namespace {

using ptx::TensorMap;

// The parameters that all encoding calls have. A count of 0 returns CUDA_ERROR_INVALID_VALUE before the map
// is written.
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

  void require_counts(const CUtensorMap *out) const {
    require(out != nullptr && dimensions != nullptr && strides != nullptr && element_strides != nullptr);
    require(rank >= 1 && rank <= 5);
    for (cuuint32_t i = 0; i < rank; ++i) require(dimensions[i] != 0 && element_strides[i] != 0);
  }
};

// An element type by its CUtensorMapDataType.
struct Element {
  TensorMap::Format format;
  bool is_tf32, is_float;
  std::uint64_t bytes;
};
constexpr Element elements[] = {{TensorMap::u8, false, false, 1},     {TensorMap::u16, false, false, 2},
                                {TensorMap::u32, false, false, 4},    {TensorMap::s32, false, false, 4},
                                {TensorMap::u64, false, false, 8},    {TensorMap::s64, false, false, 8},
                                {TensorMap::f16, false, true, 2},     {TensorMap::f32, false, true, 4},
                                {TensorMap::f64, false, true, 8},     {TensorMap::bf16, false, true, 2},
                                {TensorMap::f32_ftz, false, true, 4}, {TensorMap::f32, true, true, 4},
                                {TensorMap::f32_ftz, true, true, 4}};

// A map that is being encoded. An encoding that fails leaves in `out` the fields up to that of the refused
// parameter, and zeros.
class Encoding {
 public:
  Encoding(CUtensorMap *out, const Tensor &tensor, bool is_im2col) : out_(out), tensor_(tensor) {
    map_.set(TensorMap::is_im2col, is_im2col);
  }
  Encoding(const Encoding &) = delete;
  ~Encoding() {
    if (!has_address_) map_ = {};
    std::memcpy(static_cast<void *>(out_), &map_, sizeof map_);
  }

  void encode_tensor() {
    const int interleave = tensor_.interleave;
    require(tensor_.rank >= 3 || (interleave == 0 && map_.get(TensorMap::is_im2col) == 0));
    const std::uint64_t alignment = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
    const auto address = reinterpret_cast<std::uintptr_t>(tensor_.address);
    require(address % alignment == 0 && address >> 57 == 0);
    has_address_ = true;
    map_.set_address(address);
    map_.set(TensorMap::rank, tensor_.rank - 1);
    require_below(tensor_.type, std::size(elements));
    map_.set(TensorMap::format, element().format);
    map_.set(TensorMap::is_tf32, element().is_tf32);
    set(TensorMap::interleave, interleave, 3);
    set(TensorMap::swizzle, tensor_.swizzle, 4);
    set(TensorMap::fills_with_nan, tensor_.fill, element().is_float ? 2 : 1);
    set(TensorMap::l2_promotion, tensor_.promotion, 4);
    for (cuuint32_t i = 0; i + 1 < tensor_.rank; ++i) {
      require(tensor_.strides[i] % alignment == 0 && tensor_.strides[i] >> 40 == 0);
      map_.set_stride(i, tensor_.strides[i]);
    }
    for (cuuint32_t i = 0; i < tensor_.rank; ++i) {
      require(tensor_.dimensions[i] <= std::uint64_t{1} << 32);
      map_.set(TensorMap::dimension(i), static_cast<std::uint32_t>(tensor_.dimensions[i] - 1));
      require(tensor_.element_strides[i] <= 8);
      map_.set(TensorMap::element_stride(i), tensor_.element_strides[i] - 1);
    }
  }

  void encode_box(const cuuint32_t *box) {
    std::uint64_t count = 1;
    for (cuuint32_t i = 0; i < tensor_.rank; ++i) {
      require(box[i] <= 256);
      map_.set(TensorMap::box(i), box[i] - 1);
      count *= box[i] / tensor_.element_strides[i];
    }
    finish(box[0], count);
  }

  void encode_pixels(const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels,
                     bool has_wide_corners) {
    const unsigned count = tensor_.rank - 2;
    const int limit = 1 << (TensorMap::corner_bits(count) - 1);
    const auto is_in_range = [limit](int offset) { return offset >= -limit && offset < limit; };
    require(lower != nullptr && upper != nullptr);
    std::uint32_t corners[2][3] = {};
    for (unsigned i = 0; i < count; ++i) {
      const bool is_given = i == 0 || !has_wide_corners;
      const int from = is_given ? lower[i] : 0, to = is_given ? upper[i] : 0;
      // An interleaved map counts from its first dimension; the size is signed.
      const auto size = tensor_.dimensions[i + (tensor_.interleave == 0 ? 1 : 0)];
      require(is_in_range(from) && is_in_range(to) &&
              std::int64_t{static_cast<std::int32_t>(size)} + to - from > 0);
      corners[0][i] = static_cast<std::uint32_t>(from);
      corners[1][i] = static_cast<std::uint32_t>(to);
    }
    for (unsigned i = 0; i < count; ++i) {
      map_.set(TensorMap::lower_corner(i, count), corners[0][i]);
      map_.set(TensorMap::upper_corner(i, count), corners[1][i]);
    }
    require(channels <= 256 && pixels <= 1024);
    map_.set(TensorMap::box(0), channels - 1);
    map_.set(TensorMap::pixels, pixels - 1);
    finish(channels, std::uint64_t{channels} * pixels);
  }

 private:
  const Element &element() const { return elements[tensor_.type]; }
  static void require_below(int value, std::size_t end) {
    require(value >= 0 && static_cast<std::size_t>(value) < end);
  }
  void set(TensorMap::Field field, int value, std::size_t end) {
    require_below(value, end);
    map_.set(field, static_cast<std::uint32_t>(value));
  }
  // `inner`: elements of the box in the first dimension, `count`: in all dimensions.
  void finish(std::uint64_t inner, std::uint64_t count) {
    const std::uint64_t line = inner * element().bytes, swizzle_span = 16u << tensor_.swizzle;
    require(line % 16 == 0);
    require(tensor_.swizzle == 0 || tensor_.interleave != 0 || line <= swizzle_span);
    require(count * element().bytes <= most_bytes);
    map_.set(TensorMap::box_bytes, static_cast<std::uint32_t>(count * element().bytes));
    map_.set(TensorMap::box_alignment, tensor_.swizzle == 0 ? 16 : 128u << tensor_.swizzle);
  }

  static constexpr std::uint64_t most_bytes = 228 * 1024;  // the shared memory of a multiprocessor
  CUtensorMap *out_;
  const Tensor &tensor_;
  TensorMap map_;
  bool has_address_ = false;
};

// Requires that the current context's device has tensor maps.
void require_tensor_maps(Call &call) {
  const Device &device = *call.context().device;
  require(device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9, CUDA_ERROR_NOT_SUPPORTED);
}

CUresult encode_tiled(Call &call, CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                      const cuuint64_t *dimensions, const cuuint64_t *strides, const cuuint32_t *box,
                      const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill fill) {
  require_tensor_maps(call);
  const Tensor tensor{type,       rank,    address,   dimensions, strides, element_strides,
                      interleave, swizzle, promotion, fill};
  tensor.require_counts(out);
  require(box != nullptr && std::find(box, box + rank, 0u) == box + rank);
  Encoding encoding(out, tensor, false);
  encoding.encode_tensor();
  encoding.encode_box(box);
  return CUDA_SUCCESS;
}

// Implements the calls that encode a box of pixels. `is_mode`: the mode of wide corners is valid.
CUresult encode_pixels(Call &call, CUtensorMap *out, const Tensor &tensor, const int *lower, const int *upper,
                       cuuint32_t channels, cuuint32_t pixels, bool has_wide_corners, bool is_mode) {
  require_tensor_maps(call);
  tensor.require_counts(out);
  require(channels != 0 && pixels != 0);
  Encoding encoding(out, tensor, true);
  require(is_mode);
  encoding.encode_tensor();
  encoding.encode_pixels(lower, upper, channels, pixels, has_wide_corners);
  return CUDA_SUCCESS;
}

CUresult encode_im2col(Call &call, CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                       const cuuint64_t *dimensions, const cuuint64_t *strides, const int *lower,
                       const int *upper, cuuint32_t channels, cuuint32_t pixels,
                       const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill) {
  const Tensor tensor{type,       rank,    address,   dimensions, strides, element_strides,
                      interleave, swizzle, promotion, fill};
  return encode_pixels(call, out, tensor, lower, upper, channels, pixels, false, true);
}

#if CUDA_VERSION >= 12080
// The map does not contain the mode.
CUresult encode_im2col_wide(Call &call, CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank,
                            void *address, const cuuint64_t *dimensions, const cuuint64_t *strides, int lower,
                            int upper, cuuint32_t channels, cuuint32_t pixels,
                            const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                            CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const Tensor tensor{type,       rank,    address,   dimensions, strides, element_strides,
                      interleave, swizzle, promotion, fill};
  const bool is_mode =
      mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W || mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
  return encode_pixels(call, out, tensor, &lower, &upper, channels, pixels, true, is_mode);
}
#endif

// Does not read the map: any 128 bytes have an address.
CUresult replace_address(Call &call, CUtensorMap *out, void *address) {
  require_tensor_maps(call);
  const auto to = reinterpret_cast<std::uintptr_t>(address);
  require(out != nullptr && to != 0 && to % 16 == 0 && to >> 57 == 0);
  TensorMap map;
  std::memcpy(static_cast<void *>(&map), out, sizeof map);
  map.set_address((map.address() >> 57 << 57) | to);
  std::memcpy(static_cast<void *>(out), &map, sizeof map);
  return CUDA_SUCCESS;
}

// Documentation. The class has no effect on the simulated devices, so it is always the small one.
CUresult set_allocation_class(Call &call, CUtensorMap *map, CushimTensorMapAllocClass wanted,
                              CushimTensorMapAllocClass *effective) {
  // Headers before 13.5 lack the names: CU_TENSOR_MAP_ALLOC_CLASS_SMALL and _LARGE, after _AUTO.
  constexpr auto small = static_cast<CushimTensorMapAllocClass>(1);
  constexpr unsigned large = 2;
  if (effective != nullptr) *effective = small;
  call.context();
  require(map != nullptr && static_cast<unsigned>(wanted) <= large);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_tensor_maps = {
    entry<"cuTensorMapEncodeTiled", encode_tiled>,
    entry<"cuTensorMapEncodeIm2col", encode_im2col>,
#if CUDA_VERSION >= 12080
    entry<"cuTensorMapEncodeIm2colWide", encode_im2col_wide>,
#endif
    entry<"cuTensorMapReplaceAddress", replace_address>,
    entry<"cuTensorMapSetAllocationClass", set_allocation_class>,
};

}  // namespace cushim::sim

#endif
