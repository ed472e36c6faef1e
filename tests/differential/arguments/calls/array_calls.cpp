// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_array_calls(Calls &calls) {
  CALL(cuArrayCreate, o.made<CUarray>(), o.in(CUDA_ARRAY_DESCRIPTOR{64, 64, CU_AD_FORMAT_FLOAT, 1}));
  CALL(cuArrayGetDescriptor, o.hidden<CUDA_ARRAY_DESCRIPTOR>(), o.array());
  CALL_AS("3D", cuArrayGetDescriptor, o.hidden<CUDA_ARRAY_DESCRIPTOR>(), o.array_3d());
  CALL(cuArray3DGetDescriptor, o.hidden<CUDA_ARRAY3D_DESCRIPTOR>(), o.array_3d());
  CALL(cuArrayGetSparseProperties, o.hidden<CUDA_ARRAY_SPARSE_PROPERTIES>(), o.array());
  CALL(cuArrayGetMemoryRequirements, o.hidden<CUDA_ARRAY_MEMORY_REQUIREMENTS>(), o.array(), o.device);
  CALL(cuArrayGetPlane, o.hidden<CUarray>(), o.array(), 0U);
  CALL(cuArrayDestroy, o.array()).destroys();
  CALL(cuArray3DCreate, o.made<CUarray>(),
       o.in(CUDA_ARRAY3D_DESCRIPTOR{16, 16, 8, CU_AD_FORMAT_FLOAT, 1, 0}));
  CALL_AS("layered", cuArray3DCreate, o.made<CUarray>(),
          o.in(CUDA_ARRAY3D_DESCRIPTOR{16, 16, 6, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_LAYERED}));
  CALL_AS("cube", cuArray3DCreate, o.made<CUarray>(),
          o.in(CUDA_ARRAY3D_DESCRIPTOR{16, 16, 6, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_CUBEMAP}));
  CALL(cuMipmappedArrayCreate, o.made<CUmipmappedArray>(),
       o.in(CUDA_ARRAY3D_DESCRIPTOR{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0}), 4U);
  CALL(cuMipmappedArrayGetLevel, o.hidden<CUarray>(), o.mipmapped(), 1U);
  CALL(cuMipmappedArrayGetSparseProperties, o.hidden<CUDA_ARRAY_SPARSE_PROPERTIES>(), o.mipmapped());
  CALL(cuMipmappedArrayGetMemoryRequirements, o.hidden<CUDA_ARRAY_MEMORY_REQUIREMENTS>(), o.mipmapped(),
       o.device);
  CALL(cuMipmappedArrayDestroy, o.mipmapped()).destroys();
}

}  // namespace arguments
