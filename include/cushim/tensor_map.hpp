// SPDX-License-Identifier: Apache-2.0
// Tensor maps: descriptions of tensors for the copies of kernels between global and shared memory (TMA).
//
//   const CUtensorMap map = tensor_map(data.span(), {.sizes = {512, 256}, .strides = {1024}, .box = {64,
//   32}});
//
// A kernel takes the map as a parameter declared __grid_constant__. Needs CUDA 12.0 and compute capability
// 9.0.
#pragma once

#include <cushim/detail/reference.hpp>
#include <cushim/device_ptr.hpp>

#include <algorithm>
#include <span>
#include <vector>

#if CUDA_VERSION >= 12000

namespace cushim {
inline namespace v1 {

// The shape of a tensor and of the boxes that a copy moves. The first dimension is the one whose elements are
// adjacent.
struct TensorShape {
  std::vector<cuuint64_t> sizes;            // elements, 1 to 5 dimensions
  std::vector<cuuint64_t> strides{};        // bytes, of all dimensions but the first
  std::vector<cuuint32_t> box{};            // elements that a copy moves in each dimension; tensor_map()
  std::vector<cuuint32_t> element_steps{};  // empty: 1 in each dimension
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

// The pixels of a convolution that a copy moves, for im2col_tensor_map().
struct Im2colBox {
  std::vector<int> lower_corner;  // of the dimensions between the first and the last
  std::vector<int> upper_corner;
  unsigned channels = 1;  // for each pixel
  unsigned pixels = 1;    // for each column
};

namespace detail {

// Returns the type of the elements of a tensor.
template <class T>
constexpr CUtensorMapDataType tensor_type() {
  using Element = std::remove_cv_t<T>;
  constexpr bool is_float = std::is_same_v<Element, float>, is_double = std::is_same_v<Element, double>;
  static_assert(is_float || is_double ||
                    (std::is_integral_v<Element> && !(std::is_signed_v<Element> && sizeof(Element) < 4)),
                "cushim: elements of tensors are float, double or integers; name the type for others");
  if constexpr (is_float) return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  if constexpr (is_double) return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  if constexpr (sizeof(Element) == 1) return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  if constexpr (sizeof(Element) == 2) return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  if constexpr (sizeof(Element) == 4)
    return std::is_signed_v<Element> ? CU_TENSOR_MAP_DATA_TYPE_INT32 : CU_TENSOR_MAP_DATA_TYPE_UINT32;
  return std::is_signed_v<Element> ? CU_TENSOR_MAP_DATA_TYPE_INT64 : CU_TENSOR_MAP_DATA_TYPE_UINT64;
}

// Throws INVALID_VALUE if a list has another length than the driver reads.
inline void check_length(std::size_t length, std::size_t wanted, const char *name, const char *routine,
                         Where where) {
  if (length != wanted)
    fail(CUDA_ERROR_INVALID_VALUE, routine, where, Argument{name, static_cast<long long>(length)},
         Argument{"wanted length", static_cast<long long>(wanted)});
}

inline std::vector<cuuint32_t> element_steps_of(const TensorShape &shape, const char *routine, Where where) {
  if (shape.element_steps.empty()) return std::vector<cuuint32_t>(shape.sizes.size(), 1);
  check_length(shape.element_steps.size(), shape.sizes.size(), "element steps", routine, where);
  return shape.element_steps;
}

}  // namespace detail

// Returns the map of a tensor at an address. Throws INVALID_VALUE if the lists of the shape differ in length.
// Driver calls: cuTensorMapEncodeTiled.
inline CUtensorMap tensor_map(CUdeviceptr address, CUtensorMapDataType type, const TensorShape &shape,
                              Driver &driver = cushim::driver(), Where where = Where::current()) {
  constexpr const char *routine = "cuTensorMapEncodeTiled";
  const std::size_t rank = shape.sizes.size();
  detail::check_length(shape.strides.size() + 1, rank, "strides and one", routine, where);
  detail::check_length(shape.box.size(), rank, "box", routine, where);
  const auto steps = detail::element_steps_of(shape, routine, where);
  CUtensorMap map{};
  detail::check(driver.cuTensorMapEncodeTiled(&map, type, static_cast<cuuint32_t>(rank),
                                              reinterpret_cast<void *>(address), shape.sizes.data(),
                                              shape.strides.data(), shape.box.data(), steps.data(),
                                              shape.interleave, shape.swizzle, shape.promotion, shape.fill),
                routine, where, detail::Through{&driver}, detail::Address{"address", address});
  return map;
}
// The same for a range; the type is that of its elements.
template <class T>
CUtensorMap tensor_map(DeviceSpan<T> data, const TensorShape &shape, Driver &driver = cushim::driver(),
                       Where where = Where::current()) {
  return tensor_map(data.data().address(), detail::tensor_type<T>(), shape, driver, where);
}

// Returns the map of a tensor whose copies move the pixels of a convolution (im2col). Throws INVALID_VALUE if
// the lists differ in length. Driver calls: cuTensorMapEncodeIm2col.
inline CUtensorMap im2col_tensor_map(CUdeviceptr address, CUtensorMapDataType type, const TensorShape &shape,
                                     const Im2colBox &box, Driver &driver = cushim::driver(),
                                     Where where = Where::current()) {
  constexpr const char *routine = "cuTensorMapEncodeIm2col";
  const std::size_t rank = shape.sizes.size();
  detail::check_length(shape.strides.size() + 1, rank, "strides and one", routine, where);
  detail::check_length(box.lower_corner.size() + 2, rank, "lower corner and two", routine, where);
  detail::check_length(box.upper_corner.size() + 2, rank, "upper corner and two", routine, where);
  const auto steps = detail::element_steps_of(shape, routine, where);
  CUtensorMap map{};
  detail::check(
      driver.cuTensorMapEncodeIm2col(
          &map, type, static_cast<cuuint32_t>(rank), reinterpret_cast<void *>(address), shape.sizes.data(),
          shape.strides.data(), box.lower_corner.data(), box.upper_corner.data(), box.channels, box.pixels,
          steps.data(), shape.interleave, shape.swizzle, shape.promotion, shape.fill),
      routine, where, detail::Through{&driver}, detail::Address{"address", address});
  return map;
}

// Sets the address of a tensor map. Driver calls: cuTensorMapReplaceAddress.
inline void set_address(CUtensorMap &map, CUdeviceptr address, Driver &driver = cushim::driver(),
                        Where where = Where::current()) {
  detail::check(driver.cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(address)),
                "cuTensorMapReplaceAddress", where, detail::Through{&driver},
                detail::Address{"address", address});
}

}  // namespace v1
}  // namespace cushim

#endif
