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

void keep_description(const TextureObject &texture) {
  texture.context->ended_textures.add(texture.handle, texture.source);
}
void keep_description(const SurfaceObject &surface) {
  surface.context->ended_surfaces.add(surface.handle, surface.resource);
}

template <class Object>
CUresult destroy(Call &call, unsigned long long handle) {
  if (handle == 0) return call.current_or_destroyed(), CUDA_SUCCESS;  // needs a current context
  const Object &object = find<Object>(call, handle);
  keep_description(object);
  call.system.handles.erase(object, call.name);
  return CUDA_SUCCESS;
}

void read(const TextureObject &texture, CUDA_RESOURCE_DESC &out) { out = texture.source.resource; }
void read(const TextureObject &texture, CUDA_TEXTURE_DESC &out) { out = texture.source.sampling; }
// Without a view, returns an empty one: measured on an H200, driver 580.
void read(const TextureObject &texture, CUDA_RESOURCE_VIEW_DESC &out) {
  out = texture.source.view.value_or(CUDA_RESOURCE_VIEW_DESC{});
}
void read(const SurfaceObject &surface, CUDA_RESOURCE_DESC &out) { out = surface.resource; }

// Returns a description of an object of the current context. Measured on an H200, driver 580.
template <class Object, class Description>
CUresult get(Call &call, Description *out, unsigned long long handle) {
  const Object &object = find<Object>(call, handle);
  require(object.context == call.current());
  require(out != nullptr);
  read(object, *out);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_textures = {
    entry<"cuTexObjectCreate", create_texture>,
    entry<"cuTexObjectDestroy", destroy<TextureObject>>,
    entry<"cuTexObjectGetResourceDesc", get<TextureObject, CUDA_RESOURCE_DESC>>,
    entry<"cuTexObjectGetTextureDesc", get<TextureObject, CUDA_TEXTURE_DESC>>,
    entry<"cuTexObjectGetResourceViewDesc", get<TextureObject, CUDA_RESOURCE_VIEW_DESC>>,
    entry<"cuSurfObjectCreate", create_surface>,
    entry<"cuSurfObjectDestroy", destroy<SurfaceObject>>,
    entry<"cuSurfObjectGetResourceDesc", get<SurfaceObject, CUDA_RESOURCE_DESC>>,
};

}  // namespace cushim::sim
