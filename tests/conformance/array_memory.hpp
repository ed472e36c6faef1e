// SPDX-License-Identifier: Apache-2.0
// Arrays for statements, and access to their bytes.
#pragma once

#include <string>
#include <vector>

#include "memory_kinds.hpp"
#include "support/structures.hpp"

namespace conformance {

inline constexpr unsigned kSparse = CUDA_ARRAY3D_SPARSE, kDeferred = CUDA_ARRAY3D_DEFERRED_MAPPING;

// Destroys the arrays that its members create at the end of the test.
class WithArrays : public OnDevice {
 protected:
  void TearDown() override;

 public:
  CUarray array(const CUDA_ARRAY3D_DESCRIPTOR &shape);
  CUmipmappedArray mipmapped(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned levels);

  CUarray array_out = nullptr;  // also destroyed
  CUmipmappedArray mipmapped_out = nullptr;

 private:
  std::vector<CUarray> arrays_;
  std::vector<CUmipmappedArray> mipmapped_;
};

inline CUarray_format format(int number) { return static_cast<CUarray_format>(number); }

inline CUDA_ARRAY3D_DESCRIPTOR shape(std::size_t width, std::size_t height = 0, std::size_t depth = 0,
                                     CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8,
                                     unsigned channels = 1, unsigned flags = 0) {
  return cushim::test::array_shape(width, height, depth, format, channels, flags);
}

// Returns, for example, "64 x 8 x 0 of format 1, 1 channels, flags 0".
std::string text_of(const CUDA_ARRAY3D_DESCRIPTOR &shape);
std::string text_of(const CUDA_ARRAY_DESCRIPTOR &shape);

// Write and read an array's bytes, row by row, by copies from and to pageable memory.
void put(CUarray array, std::size_t width_in_bytes, std::size_t rows, std::size_t slices,
         const std::vector<unsigned char> &bytes);
std::vector<unsigned char> take(CUarray array, std::size_t width_in_bytes, std::size_t rows,
                                std::size_t slices);

}  // namespace conformance
