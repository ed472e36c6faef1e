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
  CUDA_MEMCPY3D copy = cushim::test::copy_of_box(array, bytes.data(), width_in_bytes, rows, slices);
  copy.srcPitch = width_in_bytes;
  copy.srcHeight = rows;
  NEED(driver().cuMemcpy3D(&copy));
}

std::vector<unsigned char> take(CUarray array, std::size_t width_in_bytes, std::size_t rows,
                                std::size_t slices) {
  std::vector<unsigned char> taken(width_in_bytes * rows * slices);
  NEED(driver().cuCtxSynchronize());
  CUDA_MEMCPY3D copy = cushim::test::copy_of_box(taken.data(), array, width_in_bytes, rows, slices);
  copy.dstPitch = width_in_bytes;
  copy.dstHeight = rows;
  NEED(driver().cuMemcpy3D(&copy));
  return taken;
}

}  // namespace conformance
