// SPDX-License-Identifier: Apache-2.0
// Checks of the resources of textures and surfaces.
#pragma once

#include "api/call.hpp"
#include "objects/texture.hpp"

namespace cushim::sim {

// Returns the texture, surface or reference with this handle. INVALID_VALUE if there is none.
template <class T>
T &find_texture_object(Call &call, const void *handle) {
  call.context();
  T *const found = call.system.handles.find<T>(handle);
  if (found == nullptr) {
    call.report_misuse(handle, T::kKind);
    fail(CUDA_ERROR_INVALID_VALUE);
  }
  return *found;
}

// INVALID_VALUE unless the descriptors follow the rules of cuTexObjectCreate in cuda.h. NOT_SUPPORTED, with a
// report, for what the simulated driver does not read: compressed formats and seamless cubemaps.
void require_valid(Call &call, const Context &context, const TextureSource &source);

// Returns the array of a surface of the current context. INVALID_VALUE without CUDA_ARRAY3D_SURFACE_LDST.
Array &surface_array(Call &call, CUarray handle);

}  // namespace cushim::sim
