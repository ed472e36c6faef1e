// SPDX-License-Identifier: Apache-2.0
// Checks of the resources of textures and surfaces.
#pragma once

#include "api/call.hpp"
#include "objects/texture.hpp"

namespace cushim::sim {

// Returns the texture, surface or reference with this handle; fails with `error` if there is none.
template <class T>
T &find_texture_object(Call &call, const void *handle, CUresult error = CUDA_ERROR_INVALID_VALUE) {
  call.context();
  return call.object<T>(handle, error);
}

// INVALID_VALUE unless a driver accepts the descriptors (measured on driver 580; it accepts more than the
// documentation of cuTexObjectCreate allows). NOT_SUPPORTED, with a
// report, for what the simulated driver does not read: compressed formats.
void require_valid(Call &call, const Context &context, const TextureSource &source);

// INVALID_VALUE unless a texture reference can be bound to this linear or pitched memory.
void require_bindable(const Context &context, const CUDA_RESOURCE_DESC &resource);

// Throws PEER_ACCESS_NOT_ENABLED for an array of another context without peer access; not for mipmapped
// arrays. Measured on an H200, driver 580.
void require_reachable(Call &call, const Context &context, const CUDA_RESOURCE_DESC &resource);

// Returns the array of a surface of the current context. INVALID_VALUE if there is none. NOT_SUPPORTED, with
// a report, for compressed and packed formats.
Array &surface_array(Call &call, CUarray handle);

}  // namespace cushim::sim
