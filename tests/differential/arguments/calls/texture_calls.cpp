// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

namespace {
CUDA_RESOURCE_VIEW_DESC view(CUresourceViewFormat format, unsigned last_level) {
  CUDA_RESOURCE_VIEW_DESC made{};
  made.format = format;
  made.width = made.height = 64;
  made.lastMipmapLevel = last_level;
  return made;
}
}  // namespace

void add_texture_calls(Calls &calls) {
  CALL(cuTexObjectCreate, o.made_texture(), o.in(array_resource(o.array()), array_resource_fields()),
       o.in(CUDA_TEXTURE_DESC{}), nullptr);
  CALL_AS("view", cuTexObjectCreate, o.made_texture(),
          o.in(array_resource(o.array()), array_resource_fields()), o.in(CUDA_TEXTURE_DESC{}),
          o.in(view(CU_RES_VIEW_FORMAT_UINT_1X8, 0)));
  CALL_AS("mipmapped", cuTexObjectCreate, o.made_texture(),
          o.in(mipmapped_resource(o), mipmapped_resource_fields()), o.in(CUDA_TEXTURE_DESC{}),
          o.in(view(CU_RES_VIEW_FORMAT_FLOAT_1X32, 3)));
  CALL_AS("linear", cuTexObjectCreate, o.made_texture(), o.in(linear_resource(o), linear_resource_fields()),
          o.in(CUDA_TEXTURE_DESC{}), nullptr);
  CALL_AS("pitched", cuTexObjectCreate, o.made_texture(),
          o.in(pitched_resource(o), pitched_resource_fields()), o.in(CUDA_TEXTURE_DESC{}), nullptr);
  CALL(cuTexObjectDestroy, Handle{o.texture()}).destroys();
  CALL(cuTexObjectGetResourceDesc, o.hidden<CUDA_RESOURCE_DESC>(), Handle{o.texture()});
  CALL(cuTexObjectGetTextureDesc, o.hidden<CUDA_TEXTURE_DESC>(), Handle{o.texture()});
  CALL(cuTexObjectGetResourceViewDesc, o.hidden<CUDA_RESOURCE_VIEW_DESC>(), Handle{o.texture()});
  CALL(cuSurfObjectCreate, o.made_surface(), o.in(array_resource(o.array_3d()), array_resource_fields()))
      .without({"pSurfObject=null"});  // the real driver crashes
  CALL_AS("array", cuSurfObjectCreate, o.made_surface(),
          o.in(array_resource(o.array()), array_resource_fields()));
  CALL(cuSurfObjectDestroy, Handle{o.surface()}).destroys();
  CALL(cuSurfObjectGetResourceDesc, o.hidden<CUDA_RESOURCE_DESC>(), Handle{o.surface()});

  CALL(cuTexRefCreate, o.made<CUtexref>());
  CALL(cuTexRefDestroy, o.texture_reference()).destroys();
  CALL(cuTexRefSetArray, o.texture_reference(), o.array(), 1U);
  CALL(cuTexRefSetMipmappedArray, o.texture_reference(), o.mipmapped(), 1U);
  CALL(cuTexRefSetAddress, o.out<std::size_t>(), o.texture_reference(), o.memory(), std::size_t{4096});
  CALL(cuTexRefSetAddress2D, o.texture_reference(),
       o.in(CUDA_ARRAY_DESCRIPTOR{64, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1}), o.memory(), std::size_t{128});
  CALL(cuTexRefSetFormat, o.texture_reference(), CU_AD_FORMAT_FLOAT, 1);
  CALL(cuTexRefSetAddressMode, o.texture_reference(), 0, CU_TR_ADDRESS_MODE_CLAMP);
  CALL(cuTexRefSetFilterMode, o.texture_reference(), CU_TR_FILTER_MODE_POINT);
  CALL(cuTexRefSetMipmapFilterMode, o.texture_reference(), CU_TR_FILTER_MODE_POINT);
  CALL(cuTexRefSetMipmapLevelBias, o.texture_reference(), 0.5F);
  CALL(cuTexRefSetMipmapLevelClamp, o.texture_reference(), 0.0F, 1.0F);
  CALL(cuTexRefSetFlags, o.texture_reference(), 0U);
  CALL(cuTexRefSetMaxAnisotropy, o.texture_reference(), 4U);
  CALL(cuTexRefGetAddress, o.hidden<CUdeviceptr>(), o.texture_reference());
  CALL(cuTexRefGetArray, o.hidden<CUarray>(), o.texture_reference());
  CALL(cuTexRefGetAddressMode, o.out<CUaddress_mode>(), o.texture_reference(), 0);
  CALL(cuTexRefGetFilterMode, o.out<CUfilter_mode>(), o.texture_reference());
  CALL(cuTexRefGetFormat, o.out<CUarray_format>(), o.out<int>(), o.texture_reference());
  CALL(cuTexRefGetFlags, o.out<unsigned>(), o.texture_reference());
  CALL(cuTexRefGetMaxAnisotropy, o.out<int>(), o.texture_reference());

  CALL(cuTensorMapEncodeTiled, o.hidden<CUtensorMap>(), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2U,
       HostMemory{reinterpret_cast<void *>(o.memory().value)}, o.list<cuuint64_t>({64, 32, 4, 2, 2}),
       o.list<cuuint64_t>({256, 8192, 32768, 65536}), o.list<cuuint32_t>({16, 8, 1, 1, 1}),
       o.list<cuuint32_t>({1, 1, 1, 1, 1}), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
       CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace arguments
