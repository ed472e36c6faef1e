// SPDX-License-Identifier: Apache-2.0
#include "array_memory.hpp"

namespace conformance {

void WithArrays::TearDown() {
  driver().cuCtxSetCurrent(context);
  if (array_out != nullptr) driver().cuArrayDestroy(array_out);
  if (mipmapped_out != nullptr) driver().cuMipmappedArrayDestroy(mipmapped_out);
  for (CUarray made : arrays_) driver().cuArrayDestroy(made);
  for (CUmipmappedArray made : mipmapped_) driver().cuMipmappedArrayDestroy(made);
  OnDevice::TearDown();
}

CUarray WithArrays::array(const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  CUarray made = nullptr;
  NEED(driver().cuArray3DCreate(&made, &shape));
  arrays_.push_back(made);
  return made;
}

CUmipmappedArray WithArrays::mipmapped(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned levels) {
  CUmipmappedArray made = nullptr;
  NEED(driver().cuMipmappedArrayCreate(&made, &shape, levels));
  mipmapped_.push_back(made);
  return made;
}

CUDA_ARRAY3D_DESCRIPTOR shape(std::size_t width, std::size_t height, std::size_t depth, CUarray_format format,
                              unsigned channels, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR made = {};
  made.Width = width;
  made.Height = height;
  made.Depth = depth;
  made.Format = format;
  made.NumChannels = channels;
  made.Flags = flags;
  return made;
}

std::string text_of(const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  return std::to_string(shape.Width) + " x " + std::to_string(shape.Height) + " x " +
         std::to_string(shape.Depth) + " of format " + std::to_string(static_cast<int>(shape.Format)) + ", " +
         std::to_string(shape.NumChannels) + " channels, flags " + std::to_string(shape.Flags);
}

std::string text_of(const CUDA_ARRAY_DESCRIPTOR &shape) {
  return std::to_string(shape.Width) + " x " + std::to_string(shape.Height) + " of format " +
         std::to_string(static_cast<int>(shape.Format)) + ", " + std::to_string(shape.NumChannels) +
         " channels";
}

void put(CUarray array, std::size_t width_in_bytes, std::size_t rows, std::size_t slices,
         const std::vector<unsigned char> &bytes) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = bytes.data();
  copy.srcPitch = width_in_bytes;
  copy.srcHeight = rows;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = width_in_bytes;
  copy.Height = rows;
  copy.Depth = slices;
  NEED(driver().cuMemcpy3D(&copy));
}

std::vector<unsigned char> take(CUarray array, std::size_t width_in_bytes, std::size_t rows,
                                std::size_t slices) {
  std::vector<unsigned char> taken(width_in_bytes * rows * slices);
  NEED(driver().cuCtxSynchronize());
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = taken.data();
  copy.dstPitch = width_in_bytes;
  copy.dstHeight = rows;
  copy.WidthInBytes = width_in_bytes;
  copy.Height = rows;
  copy.Depth = slices;
  NEED(driver().cuMemcpy3D(&copy));
  return taken;
}

}  // namespace conformance
