// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces.
#include "make_object.hpp"

namespace arguments {

CUarray Objects::array() {
  return once<CUarray>("array", [this](CUarray *made) {
    const CUDA_ARRAY_DESCRIPTOR description{64, 64, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    return driver_->cuArrayCreate(made, &description);
  });
}
CUarray Objects::array_1d() {
  return once<CUarray>("1D array", [this](CUarray *made) {
    const CUDA_ARRAY_DESCRIPTOR description{4096, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    return driver_->cuArrayCreate(made, &description);
  });
}
CUarray Objects::array_3d() {
  return once<CUarray>("3D array", [this](CUarray *made) {
    const CUDA_ARRAY3D_DESCRIPTOR description{16, 16, 8, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    return driver_->cuArray3DCreate(made, &description);
  });
}
CUmipmappedArray Objects::mipmapped() {
  return once<CUmipmappedArray>("mipmapped array", [this](CUmipmappedArray *made) {
    const CUDA_ARRAY3D_DESCRIPTOR description{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    return driver_->cuMipmappedArrayCreate(made, &description, 4);
  });
}
CUtexObject Objects::texture() {
  return once<CUtexObject>(
      "texture",
      [this](CUtexObject *made) {
        const CUDA_RESOURCE_DESC resource = array_resource(array());
        const CUDA_TEXTURE_DESC description{};
        return driver_->cuTexObjectCreate(made, &resource, &description, nullptr);
      },
      [this](CUtexObject texture) { driver_->cuTexObjectDestroy(texture); });
}
CUsurfObject Objects::surface() {
  return once<CUsurfObject>(
      "surface",
      [this](CUsurfObject *made) {
        const CUDA_RESOURCE_DESC resource = array_resource(array_3d());
        return driver_->cuSurfObjectCreate(made, &resource);
      },
      [this](CUsurfObject surface) { driver_->cuSurfObjectDestroy(surface); });
}
CUtexref Objects::texture_reference() {
  return once<CUtexref>("texture reference",
                        [this](CUtexref *made) { return driver_->cuTexRefCreate(made); });
}

}  // namespace arguments
