// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects. Errors: measured on an H200, driver 580.159.
#include "api/service.hpp"
#include "api/textures.hpp"

namespace cushim::sim {
namespace {

template <class T>
T &find(Call &call, unsigned long long handle) {
  return find_texture_object<T>(call, reinterpret_cast<const void *>(handle));
}

CUresult create_texture(Call &call, CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
                        const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view) {
  Context &context = call.context();
  require(out != nullptr && resource != nullptr && sampling != nullptr);
  auto texture = std::make_unique<TextureObject>();
  texture->source = {*resource, *sampling, {}};
  if (view != nullptr) texture->source.view = *view;
  require_valid(call, context, texture->source);
  TextureObject &made = call.system.handles.add(std::move(texture));
  made.context = &context;
  made.join(context.objects);
  *out = made.handle;
  return CUDA_SUCCESS;
}

CUresult create_surface(Call &call, CUsurfObject *out, const CUDA_RESOURCE_DESC *resource) {
  Context &context = call.context();
  require(out != nullptr && resource != nullptr);
  require(resource->resType == CU_RESOURCE_TYPE_ARRAY && resource->flags == 0);
  surface_array(call, resource->res.array.hArray);
  SurfaceObject &made = call.system.handles.add(std::make_unique<SurfaceObject>());
  made.context = &context;
  made.resource = *resource;
  made.join(context.objects);
  *out = made.handle;
  return CUDA_SUCCESS;
}

template <class T>
CUresult destroy(Call &call, unsigned long long handle) {
  if (handle == 0) return CUDA_SUCCESS;
  call.system.handles.erase(find<T>(call, handle), call.name);
  return CUDA_SUCCESS;
}

CUresult get_texture_resource(Call &call, CUDA_RESOURCE_DESC *out, CUtexObject handle) {
  const TextureObject &texture = find<TextureObject>(call, handle);
  require(out != nullptr);
  *out = texture.source.resource;
  return CUDA_SUCCESS;
}

CUresult get_sampling(Call &call, CUDA_TEXTURE_DESC *out, CUtexObject handle) {
  const TextureObject &texture = find<TextureObject>(call, handle);
  require(out != nullptr);
  *out = texture.source.sampling;
  return CUDA_SUCCESS;
}

CUresult get_view(Call &call, CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle) {
  const TextureObject &texture = find<TextureObject>(call, handle);
  require(out != nullptr);
  *out = texture.source.view.value_or(CUDA_RESOURCE_VIEW_DESC{});
  return CUDA_SUCCESS;
}

CUresult get_surface_resource(Call &call, CUDA_RESOURCE_DESC *out, CUsurfObject handle) {
  const SurfaceObject &surface = find<SurfaceObject>(call, handle);
  require(out != nullptr);
  *out = surface.resource;
  return CUDA_SUCCESS;
}

}  // namespace

void serve_textures(Service &service) {
  service.serve<"cuTexObjectCreate", create_texture>();
  service.serve<"cuTexObjectDestroy", destroy<TextureObject>>();
  service.serve<"cuTexObjectGetResourceDesc", get_texture_resource>();
  service.serve<"cuTexObjectGetTextureDesc", get_sampling>();
  service.serve<"cuTexObjectGetResourceViewDesc", get_view>();
}

void serve_surfaces(Service &service) {
  service.serve<"cuSurfObjectCreate", create_surface>();
  service.serve<"cuSurfObjectDestroy", destroy<SurfaceObject>>();
  service.serve<"cuSurfObjectGetResourceDesc", get_surface_resource>();
}

}  // namespace cushim::sim
