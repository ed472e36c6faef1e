// SPDX-License-Identifier: Apache-2.0
// Memory of sparse mipmapped arrays and of mip tails; textures and surfaces of sparse arrays. Measured on an
// H200, driver 580.159. tests/conformance has the rest.
#include <algorithm>
#include <string>
#include <vector>

#include "support/machine_fixture.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kTile = 64 << 10;

CUmipmappedArray mipmapped(unsigned flags, std::size_t size, unsigned levels, std::size_t layers = 0) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = test::array_shape(size, size, layers, CU_AD_FORMAT_UNSIGNED_INT8, 1,
                                                          flags | (layers != 0 ? CUDA_ARRAY3D_LAYERED : 0));
  CUmipmappedArray made = nullptr;
  need(driver().cuMipmappedArrayCreate(&made, &shape, levels));
  return made;
}

CUarray level_of(CUmipmappedArray array, unsigned level) {
  CUarray made = nullptr;
  need(driver().cuMipmappedArrayGetLevel(&made, array, level));
  return made;
}

CUmemGenericAllocationHandle tile_pool() {
  CUmemAllocationProp properties = test::device_memory();
  properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMemCreate(&made, 8 << 20, &properties, 0));
  return made;
}

// Returns a mapping of a square from the corner of a level on; of nothing without memory.
CUarrayMapInfo square(CUmipmappedArray array, unsigned level, unsigned size,
                      CUmemGenericAllocationHandle memory, unsigned long long offset = 0) {
  CUarrayMapInfo made = {};
  made.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  made.resource.mipmap = array;
  made.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
  made.subresource.sparseLevel.level = level;
  made.subresource.sparseLevel.extentWidth = made.subresource.sparseLevel.extentHeight = size;
  made.subresource.sparseLevel.extentDepth = 1;
  made.memOperationType = memory != 0 ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
  made.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  made.memHandle.memHandle = memory;
  made.offset = offset;
  made.deviceBitMask = 1;
  return made;
}

CUarrayMapInfo tail(CUmipmappedArray array, unsigned layer, unsigned long long offset,
                    unsigned long long size, CUmemGenericAllocationHandle memory,
                    unsigned long long from = 0) {
  CUarrayMapInfo made = square(array, 0, 0, memory, from);
  made.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  made.subresource = {};
  made.subresource.miptail.layer = layer;
  made.subresource.miptail.offset = offset;
  made.subresource.miptail.size = size;
  return made;
}

CUresult map(CUarrayMapInfo info) { return driver().cuMemMapArrayAsync(&info, 1, nullptr); }

// Writes a square of bytes in a layer, and returns how many of them it then reads.
std::size_t kept(CUarray array, std::size_t size, unsigned char byte, std::size_t layer = 0) {
  std::vector<unsigned char> bytes(size * size, byte);
  CUDA_MEMCPY3D copy = test::copy_of_box(array, bytes.data(), size, size);
  copy.srcPitch = size;
  copy.dstZ = layer;
  need(driver().cuMemcpy3D(&copy));
  std::ranges::fill(bytes, byte + 1);
  CUDA_MEMCPY3D back = test::copy_of_box(bytes.data(), array, size, size);
  back.srcZ = layer;
  back.dstPitch = size;
  need(driver().cuMemcpy3D(&back));
  return static_cast<std::size_t>(std::ranges::count(bytes, byte));
}

TEST(SparseMipmappedArrays, Take_memory_for_the_tiles_of_each_level) {
  const Running running;
  const CUmipmappedArray array = mipmapped(CUDA_ARRAY3D_SPARSE, 1024, 11);
  const auto memory = tile_pool();
  EXPECT_EQ(kept(level_of(array, 1), 512, 3), 0u);
  EXPECT_EQ(map(square(array, 0, 256, memory)), CUDA_SUCCESS);
  EXPECT_EQ(map(square(array, 1, 512, memory, kTile)), CUDA_SUCCESS);
  EXPECT_EQ(kept(level_of(array, 0), 256, 4), kTile);
  EXPECT_EQ(kept(level_of(array, 1), 512, 5), 4 * kTile);
  EXPECT_EQ(map(square(array, 3, 128, memory)), CUDA_ERROR_INVALID_VALUE) << "the tail";
  EXPECT_EQ(map(square(array, 11, 1, memory)), CUDA_ERROR_INVALID_VALUE) << "no level";
  CUarrayMapInfo info = square(array, 0, 256, memory);
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = level_of(array, 0);
  EXPECT_EQ(map(info), CUDA_ERROR_INVALID_VALUE) << "by the handle of the level";
}

TEST(SparseMipmappedArrays, Take_memory_for_all_levels_of_the_tail) {
  const Running running;
  const CUmipmappedArray array = mipmapped(CUDA_ARRAY3D_SPARSE, 1024, 11);
  const auto memory = tile_pool();
  EXPECT_EQ(kept(level_of(array, 3), 128, 3), 0u);
  EXPECT_EQ(map(tail(array, 0, 0, kTile, memory)), CUDA_SUCCESS);
  EXPECT_EQ(kept(level_of(array, 3), 128, 4), 128u * 128);
  EXPECT_EQ(kept(level_of(array, 4), 64, 5), 64u * 64);
  EXPECT_EQ(kept(level_of(array, 10), 1, 6), 1u);
  EXPECT_EQ(map(tail(array, 0, 0, kTile, 0)), CUDA_SUCCESS);
  EXPECT_EQ(kept(level_of(array, 3), 128, 7), 0u);
  for (const CUarrayMapInfo &info :
       {tail(array, 0, 0, 0, memory), tail(array, 0, 0, 1, memory), tail(array, 0, 4096, 4096, memory),
        tail(array, 0, kTile, kTile, memory), tail(array, 0, 0, 2 * kTile, memory),
        tail(array, 1, 0, kTile, memory), tail(array, 0, 0, kTile, memory, 4096),
        tail(array, 0, 0, kTile, memory, 8 << 20)})
    EXPECT_EQ(map(info), CUDA_ERROR_INVALID_VALUE);
}

TEST(SparseMipmappedArrays, Have_a_tail_for_each_layer) {
  const Running running;
  const CUmipmappedArray array = mipmapped(CUDA_ARRAY3D_SPARSE, 512, 10, 3);
  const auto memory = tile_pool();
  EXPECT_EQ(map(tail(array, 0, 0, kTile, memory)), CUDA_SUCCESS);
  EXPECT_EQ(map(tail(array, 1, 0, kTile, memory, kTile)), CUDA_SUCCESS);
  EXPECT_EQ(map(tail(array, 3, 0, kTile, memory)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kept(level_of(array, 2), 128, 3, 0), 128u * 128);
  EXPECT_EQ(kept(level_of(array, 2), 128, 4, 1), 128u * 128);
  EXPECT_EQ(kept(level_of(array, 2), 128, 5, 2), 0u);
}

TEST(DeferredMipmappedArrays, Take_memory_as_a_tail_and_by_level) {
  const Running running;
  const auto memory = tile_pool();
  const CUmipmappedArray whole = mipmapped(CUDA_ARRAY3D_DEFERRED_MAPPING, 256, 9);
  EXPECT_EQ(map(tail(whole, 0, 0, 2 * kTile, memory)), CUDA_SUCCESS);
  EXPECT_EQ(kept(level_of(whole, 0), 256, 3), kTile);
  EXPECT_EQ(kept(level_of(whole, 1), 128, 4), 128u * 128);
  const CUmipmappedArray levels = mipmapped(CUDA_ARRAY3D_DEFERRED_MAPPING, 256, 9);
  EXPECT_EQ(map(square(levels, 0, 256, memory, 2 * kTile)), CUDA_SUCCESS);
  EXPECT_EQ(map(square(levels, 1, 128, memory, 3 * kTile)), CUDA_SUCCESS);
  EXPECT_EQ(kept(level_of(levels, 0), 256, 5), kTile);
  EXPECT_EQ(kept(level_of(levels, 1), 128, 6), 128u * 128);
}

// Reads a texture and writes a surface at every 128th element of the first row.
constexpr const char *kCode = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 texture, .param .u64 surface, .param .u64 out) {
  .reg .b64 %t<4>; .reg .b32 %r<8>; .reg .b16 %h<2>;
  ld.param.u64 %t0, [texture]; ld.param.u64 %t1, [surface]; ld.param.u64 %t2, [out];
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 7; mov.u32 %r2, 0;
  mul.wide.u32 %t3, %r0, 4; add.s64 %t2, %t2, %t3;
  tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%t0, {%r1, %r2}];
  st.global.u32 [%t2], %r4;
  mov.u16 %h0, 200;
  sust.b.2d.b8.zero [%t1, {%r1, %r2}], {%h0};
  ret;
})";

TEST(SparseArrays, Are_read_by_textures_and_written_by_surfaces) {
  const Running running;
  const CUDA_ARRAY3D_DESCRIPTOR shape =
      test::array_shape(1024, 1024, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_SPARSE);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  need(driver().cuArray3DCreate(&resource.res.array.hArray, &shape));
  CUarrayMapInfo info = square(nullptr, 0, 256, tile_pool());
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = resource.res.array.hArray;
  info.subresource.sparseLevel.offsetX = 256;
  need(map(info));
  CUDA_TEXTURE_DESC sampling = {};
  sampling.flags = CU_TRSF_READ_AS_INTEGER;
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  EXPECT_EQ(driver().cuTexObjectCreate(&texture, &resource, &sampling, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(driver().cuModuleLoadData(&module, kCode));
  need(driver().cuModuleGetFunction(&function, module, "k"));
  CUdeviceptr out = running.memory();
  void *parameters[] = {&texture, &surface, &out};
  std::vector<std::uint32_t> read(8);
  for (int launch = 0; launch < 2; ++launch) {
    need(driver().cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, nullptr, parameters, nullptr));
    need(driver().cuMemcpyDtoH(read.data(), out, 32));
  }
  EXPECT_EQ(read, (std::vector<std::uint32_t>{0, 0, 200, 200, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace cushim::sim
