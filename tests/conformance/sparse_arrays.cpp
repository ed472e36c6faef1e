// SPDX-License-Identifier: Apache-2.0
// Physical memory mapped to sparse arrays, and to arrays of deferred memory.
#include "array_memory.hpp"
#include "virtual_memory.hpp"

namespace conformance {
namespace {

constexpr std::size_t kTile = 65536;  // bytes of a tile; 256 x 256 bytes in two dimensions

class SparseArrays : public WithVirtualMemory {
 protected:
  void TearDown() override {
    if (array != nullptr) driver().cuArrayDestroy(array);
    WithVirtualMemory::TearDown();
  }

 public:
  // Creates an array of bytes of 1024 x 1024, which is 4 x 4 tiles.
  void create(unsigned array_flags = kSparse) {
    CUDA_ARRAY3D_DESCRIPTOR wanted{};
    wanted.Width = wanted.Height = 1024;
    wanted.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    wanted.NumChannels = 1;
    wanted.Flags = array_flags;
    NEED(driver().cuArray3DCreate(&array, &wanted));
  }
  // Describes the mapping of memory to the tiles from `x`, `y` on.
  CUarrayMapInfo tiles(unsigned x, unsigned y, unsigned columns, unsigned rows, Handle memory) {
    CUarrayMapInfo made{};
    made.resourceType = CU_RESOURCE_TYPE_ARRAY;
    made.resource.array = array;
    made.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    made.subresource.sparseLevel.offsetX = x * 256;
    made.subresource.sparseLevel.offsetY = y * 256;
    made.subresource.sparseLevel.extentWidth = columns * 256;
    made.subresource.sparseLevel.extentHeight = rows * 256;
    made.subresource.sparseLevel.extentDepth = 1;
    made.memOperationType = memory != 0 ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
    made.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    made.memHandle.memHandle = memory;
    made.deviceBitMask = 1;
    return made;
  }
  CUresult map(const CUarrayMapInfo &info) {
    CUarrayMapInfo copy = info;
    return driver().cuMemMapArrayAsync(&copy, 1, nullptr);
  }
  // Memory that may be mapped to tiles.
  Handle tile_pool(std::size_t bytes = kGranule) {
    CUmemAllocationProp properties = plain_properties();
    properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    Handle made = 0;
    NEED(driver().cuMemCreate(&made, bytes, &properties, 0));
    own(made);
    return made;
  }
  CUresult copy(CUmemorytype from, CUmemorytype to, unsigned x, unsigned y,
                std::vector<unsigned char> &bytes) {
    CUDA_MEMCPY2D wanted{};
    wanted.srcMemoryType = from;
    wanted.dstMemoryType = to;
    if (from == CU_MEMORYTYPE_HOST) {
      wanted.srcHost = bytes.data();
      wanted.srcPitch = 256;
      wanted.dstArray = array;
      wanted.dstXInBytes = x * 256;
      wanted.dstY = y * 256;
    } else {
      wanted.dstHost = bytes.data();
      wanted.dstPitch = 256;
      wanted.srcArray = array;
      wanted.srcXInBytes = x * 256;
      wanted.srcY = y * 256;
    }
    wanted.WidthInBytes = wanted.Height = 256;
    return driver().cuMemcpy2D(&wanted);
  }
  CUresult write(unsigned x, unsigned y, unsigned char byte) {
    std::vector<unsigned char> bytes(kTile, byte);
    return copy(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_ARRAY, x, y, bytes);
  }
  // Returns the first byte of a tile, or 1000 plus the error.
  int read(unsigned x, unsigned y) {
    std::vector<unsigned char> bytes(kTile, 77);
    const CUresult code = copy(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, x, y, bytes);
    return code == CUDA_SUCCESS ? bytes[0] : 1000 + static_cast<int>(code);
  }

  CUarray array = nullptr;
};

TEST_F(SparseArrays, Are_supported) {
  EXPECT_ANSWER(
      driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, device),
      CUDA_SUCCESS);
  EXPECT_VALUE(number, 1);
  EXPECT_ANSWER(driver().cuDeviceGetAttribute(
                    &number, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, device),
                CUDA_SUCCESS);
  EXPECT_VALUE(number, 1);
}
TEST_F(SparseArrays, Without_memory_are_read_as_zeros) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  create();
  EXPECT_VALUE(read(0, 0), 0);
  EXPECT_ANSWER(write(0, 0, 5), CUDA_SUCCESS);
  EXPECT_VALUE(read(0, 0), 0);
}
TEST_F(SparseArrays, Take_memory_for_tiles) {
  create();
  const Handle memory = tile_pool();
  EXPECT_ANSWER(map(tiles(1, 2, 2, 2, memory)), CUDA_SUCCESS);
  EXPECT_ANSWER(write(1, 2, 5), CUDA_SUCCESS);
  EXPECT_ANSWER(write(2, 3, 6), CUDA_SUCCESS);
  EXPECT_VALUE(read(1, 2), 5);
  EXPECT_VALUE(read(2, 3), 6);
  EXPECT_VALUE(read(0, 0), 0);
  EXPECT_ANSWER(map(tiles(1, 2, 2, 2, 0)), CUDA_SUCCESS);
  EXPECT_VALUE(read(1, 2), 0);
}
TEST_F(SparseArrays, See_each_other_through_the_same_memory) {
  create();
  const Handle memory = tile_pool();
  EXPECT_ANSWER(map(tiles(0, 0, 1, 1, memory)), CUDA_SUCCESS);
  EXPECT_ANSWER(map(tiles(3, 3, 1, 1, memory)), CUDA_SUCCESS);
  EXPECT_ANSWER(write(0, 0, 9), CUDA_SUCCESS);
  EXPECT_VALUE(read(3, 3), 9);
}
TEST_F(SparseArrays, Take_memory_at_an_offset) {
  create();
  auto info = tiles(0, 0, 1, 1, tile_pool());
  info.offset = kTile;
  EXPECT_ANSWER(map(info), CUDA_SUCCESS);
  info.offset = 4096;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info.offset = kGranule;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(SparseArrays, Take_no_other_memory) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  create();
  EXPECT_ANSWER(map(tiles(0, 0, 1, 1, physical())), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(SparseArrays, Take_memory_for_whole_tiles) {
  create();
  const Handle memory = tile_pool();
  auto info = tiles(0, 0, 1, 1, memory);
  info.subresource.sparseLevel.extentWidth = 100;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info = tiles(0, 0, 1, 1, memory);
  info.subresource.sparseLevel.offsetX = 100;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(map(tiles(3, 0, 2, 1, memory)), CUDA_ERROR_INVALID_VALUE);
  info = tiles(0, 0, 1, 1, memory);
  info.subresource.sparseLevel.extentDepth = 0;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(SparseArrays, Are_described_without_errors) {
  create();
  const Handle memory = tile_pool();
  auto info = tiles(0, 0, 1, 1, memory);
  info.deviceBitMask = 0;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info.deviceBitMask = 2;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info = tiles(0, 0, 1, 1, memory);
  info.flags = 1;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info = tiles(0, 0, 1, 1, memory);
  info.reserved[0] = 1;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info = tiles(0, 0, 1, 1, memory);
  info.subresource.sparseLevel.level = 1;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info = tiles(0, 0, 1, 1, memory);
  info.memHandleType = static_cast<CUmemHandleType>(1);
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  info = tiles(0, 0, 1, 1, memory);
  info.resourceType = CU_RESOURCE_TYPE_LINEAR;
  EXPECT_ANSWER(map(info), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuMemMapArrayAsync(nullptr, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuMemMapArrayAsync(&info, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(SparseArrays, Take_memory_in_the_order_of_the_stream) {
  create();
  const CUstream work = stream();
  LimitedHold held(work);
  auto info = tiles(0, 0, 1, 1, tile_pool());
  EXPECT_ANSWER(driver().cuMemMapArrayAsync(&info, 1, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}
TEST_F(SparseArrays, Plain_arrays_take_no_memory) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  create(0);
  EXPECT_ANSWER(map(tiles(0, 0, 1, 1, tile_pool())), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(SparseArrays, Deferred_arrays_take_memory_as_a_whole_and_in_part) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  create(kDeferred);
  auto info = tiles(0, 0, 4, 4, tile_pool());
  EXPECT_ANSWER(map(info), CUDA_SUCCESS);
  EXPECT_ANSWER(write(1, 2, 5), CUDA_SUCCESS);
  EXPECT_VALUE(read(1, 2), 5);
  EXPECT_ANSWER(map(tiles(0, 0, 1, 1, tile_pool())), CUDA_SUCCESS);
}
TEST_F(SparseArrays, Deferred_arrays_take_no_plain_memory) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  create(kDeferred);
  EXPECT_ANSWER(map(tiles(0, 0, 4, 4, physical())), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(write(1, 2, 5), CUDA_SUCCESS);
  // The copy from an array without memory fails asynchronously.
  EXPECT_VALUE(read(1, 2), 1000 + int{CUDA_ERROR_LAUNCH_FAILED});
}
TEST_F(SparseArrays, Deferred_arrays_without_memory_are_read) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  create(kDeferred);
  EXPECT_VALUE(read(0, 0), 1000 + int{CUDA_ERROR_LAUNCH_FAILED});
}

}  // namespace
}  // namespace conformance
