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
  require_reachable(call, context, *resource);
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
  require_reachable(call, context, *resource);
  SurfaceObject &made = call.system.handles.add(std::make_unique<SurfaceObject>());
  made.context = &context;
  made.resource = *resource;
  made.join(context.objects);
  *out = made.handle;
  return CUDA_SUCCESS;
}

CUresult destroy_texture(Call &call, CUtexObject handle) {
  if (handle == 0) return call.current_or_destroyed(), CUDA_SUCCESS;  // needs a current context
  const TextureObject &texture = find<TextureObject>(call, handle);
  texture.context->ended_textures.add(texture.handle, texture.source);
  call.system.handles.erase(texture, call.name);
  return CUDA_SUCCESS;
}

CUresult destroy_surface(Call &call, CUsurfObject handle) {
  if (handle == 0) return call.current_or_destroyed(), CUDA_SUCCESS;
  const SurfaceObject &surface = find<SurfaceObject>(call, handle);
  surface.context->ended_surfaces.add(surface.handle, surface.resource);
  call.system.handles.erase(surface, call.name);
  return CUDA_SUCCESS;
}

// As find(), for an object of the current context. Measured on an H200, driver 580.
template <class T>
T &find_own(Call &call, unsigned long long handle) {
  T &found = find<T>(call, handle);
  require(found.context == call.current());
  return found;
}

CUresult get_texture_resource(Call &call, CUDA_RESOURCE_DESC *out, CUtexObject handle) {
  const TextureObject &texture = find_own<TextureObject>(call, handle);
  require(out != nullptr);
  *out = texture.source.resource;
  return CUDA_SUCCESS;
}

CUresult get_sampling(Call &call, CUDA_TEXTURE_DESC *out, CUtexObject handle) {
  const TextureObject &texture = find_own<TextureObject>(call, handle);
  require(out != nullptr);
  *out = texture.source.sampling;
  return CUDA_SUCCESS;
}

// Without a view, returns an empty one: measured on an H200, driver 580.
CUresult get_view(Call &call, CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle) {
  const TextureObject &texture = find_own<TextureObject>(call, handle);
  require(out != nullptr);
  *out = texture.source.view.value_or(CUDA_RESOURCE_VIEW_DESC{});
  return CUDA_SUCCESS;
}

CUresult get_surface_resource(Call &call, CUDA_RESOURCE_DESC *out, CUsurfObject handle) {
  const SurfaceObject &surface = find_own<SurfaceObject>(call, handle);
  require(out != nullptr);
  *out = surface.resource;
  return CUDA_SUCCESS;
}

}  // namespace

void serve_textures(Service &service) {
  service.serve<"cuTexObjectCreate", create_texture>();
  service.serve<"cuTexObjectDestroy", destroy_texture>();
  service.serve<"cuTexObjectGetResourceDesc", get_texture_resource>();
  service.serve<"cuTexObjectGetTextureDesc", get_sampling>();
  service.serve<"cuTexObjectGetResourceViewDesc", get_view>();
}

void serve_surfaces(Service &service) {
  service.serve<"cuSurfObjectCreate", create_surface>();
  service.serve<"cuSurfObjectDestroy", destroy_surface>();
  service.serve<"cuSurfObjectGetResourceDesc", get_surface_resource>();
}

}  // namespace cushim::sim
