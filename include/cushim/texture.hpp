// SPDX-License-Identifier: Apache-2.0
// Texture objects and surface objects, through which kernels read and write arrays.
//
//   const auto texture = TextureObject::create(image, {.filter = TextureFilter::linear});
//   launch(kernel, {.grid = 1, .block = 32}, stream, texture.handle());
#pragma once

#include <cushim/array.hpp>

#include <array>
#include <optional>

namespace cushim {
inline namespace v1 {

// The value of a texture outside of its array.
enum class TextureAddress : int {
  wrap = CU_TR_ADDRESS_MODE_WRAP,
  clamp = CU_TR_ADDRESS_MODE_CLAMP,
  mirror = CU_TR_ADDRESS_MODE_MIRROR,
  border = CU_TR_ADDRESS_MODE_BORDER,
};

// The value of a fetch: the nearest element, or the weighted mean of its neighbours.
enum class TextureFilter : int { point = CU_TR_FILTER_MODE_POINT, linear = CU_TR_FILTER_MODE_LINEAR };

// How kernels read a texture.
struct TextureOptions {
  std::array<TextureAddress, 3> address{TextureAddress::clamp, TextureAddress::clamp, TextureAddress::clamp};
  TextureFilter filter = TextureFilter::point;
  bool read_as_integer = false;         // else integers are read as floats from 0 or -1 to 1
  bool normalized_coordinates = false;  // coordinates from 0 to 1
  bool srgb = false;
  unsigned max_anisotropy = 0;
  TextureFilter mipmap_filter = TextureFilter::point;
  float mipmap_bias = 0, min_mipmap = 0, max_mipmap = 0;
  std::array<float, 4> border{};

  // Returns the driver's structure.
  CUDA_TEXTURE_DESC raw() const noexcept {
    CUDA_TEXTURE_DESC raw{};
    for (std::size_t i = 0; i < address.size(); ++i)
      raw.addressMode[i] = static_cast<CUaddress_mode>(address[i]);
    raw.filterMode = static_cast<CUfilter_mode>(filter);
    if (read_as_integer) raw.flags |= CU_TRSF_READ_AS_INTEGER;
    if (normalized_coordinates) raw.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (srgb) raw.flags |= CU_TRSF_SRGB;
    raw.maxAnisotropy = max_anisotropy;
    raw.mipmapFilterMode = static_cast<CUfilter_mode>(mipmap_filter);
    raw.mipmapLevelBias = mipmap_bias;
    raw.minMipmapLevelClamp = min_mipmap;
    raw.maxMipmapLevelClamp = max_mipmap;
    for (std::size_t i = 0; i < border.size(); ++i) raw.borderColor[i] = border[i];
    return raw;
  }
};

namespace detail {

inline CUDA_RESOURCE_DESC resource_of(const ArrayRef &array) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array.handle();
  return resource;
}
inline CUDA_RESOURCE_DESC resource_of(const MipmappedArrayRef &array) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = array.handle();
  return resource;
}

// As ask(), in the context that an owner was given at creation, if any.
template <class T, class Thing>
T ask_in_its_context(const Thing &thing, NamedCall<CUresult(T *, typename Thing::HandleType)> call,
                     Where where) {
  const auto query = [&] { return ask<T>(thing.ref(), call, where); };
  if constexpr (requires { thing.context(); })
    if (const std::optional<ContextRef> context = thing.context()) return in_context(*context, where, query);
  return query();
}

// The call that texture and surface objects have in common. Self has kResource, the driver's call.
template <class Self, class Handle>
class ResourceCalls : public NounBase<Self, Handle> {
 public:
  // Returns what the texture reads, or the array of the surface. Driver calls: cuTexObjectGetResourceDesc or
  // cuSurfObjectGetResourceDesc.
  CUDA_RESOURCE_DESC resource(Where where = Where::current()) const {
    return ask_in_its_context(this->self(), Self::kResource, where);
  }
};

}  // namespace detail

// The calls that TextureObjectRef and TextureObject have in common. The driver makes them in the object's
// context only: an owner that was created in a given context or on a device makes that current, push and pop;
// else the object's context must be current.
template <class Self>
class TextureObjectCalls : public detail::ResourceCalls<Self, CUtexObject> {
 public:
  // Returns how the texture reads it. Driver calls: cuTexObjectGetTextureDesc.
  CUDA_TEXTURE_DESC options(Where where = Where::current()) const {
    return detail::ask_in_its_context(
        this->self(), detail::NamedCall{"cuTexObjectGetTextureDesc", &Driver::cuTexObjectGetTextureDesc},
        where);
  }
  // Returns the part of the array and the format that the texture reads. Throws INVALID_VALUE if it was
  // created without a view. Driver calls: cuTexObjectGetResourceViewDesc.
  CUDA_RESOURCE_VIEW_DESC view(Where where = Where::current()) const {
    return detail::ask_in_its_context(
        this->self(),
        detail::NamedCall{"cuTexObjectGetResourceViewDesc", &Driver::cuTexObjectGetResourceViewDesc}, where);
  }

  static constexpr const char *kNoun = "texture object";
  static constexpr detail::NamedCall kResource{"cuTexObjectGetResourceDesc",
                                               &Driver::cuTexObjectGetResourceDesc};
  static constexpr detail::NamedCall kDestroy{"cuTexObjectDestroy", &Driver::cuTexObjectDestroy};
};

// The calls that SurfaceObjectRef and SurfaceObject have in common, in contexts as those of textures.
template <class Self>
class SurfaceObjectCalls : public detail::ResourceCalls<Self, CUsurfObject> {
 public:
  static constexpr const char *kNoun = "surface object";
  static constexpr detail::NamedCall kResource{"cuSurfObjectGetResourceDesc",
                                               &Driver::cuSurfObjectGetResourceDesc};
  static constexpr detail::NamedCall kDestroy{"cuSurfObjectDestroy", &Driver::cuSurfObjectDestroy};
};

// A reference to a texture object. Owns nothing. Kernels take the handle().
using TextureObjectRef = detail::HandleRef<TextureObjectCalls>;
// A reference to a surface object. Owns nothing. Kernels take the handle().
using SurfaceObjectRef = detail::HandleRef<SurfaceObjectCalls>;

// Owns a texture object. Its array must be valid while kernels read it. The driver needs a current context to
// destroy it; any context will do.
class TextureObject : public detail::Owner<TextureObject, TextureObjectRef, TextureObjectCalls,
                                           detail::ContextToDestroy::any> {
 public:
  // Makes a texture object of an array in the current context, which must be that of the array or have access
  // to its peer memory. Driver calls: cuTexObjectCreate; at the end cuTexObjectDestroy.
  static TextureObject create(const ArrayRef &array, const TextureOptions &options = {},
                              Where where = Where::current()) {
    return of(detail::resource_of(array), options, nullptr, array, where);
  }
  // The same of an array with mipmaps, in any context.
  static TextureObject create(const MipmappedArrayRef &array, const TextureOptions &options = {},
                              Where where = Where::current()) {
    return of(detail::resource_of(array), options, nullptr, array, where);
  }
  // The same, with a view: other dimensions, levels or layers, or another format of the same size.
  static TextureObject create(const MipmappedArrayRef &array, const TextureOptions &options,
                              const CUDA_RESOURCE_VIEW_DESC &view, Where where = Where::current()) {
    return of(detail::resource_of(array), options, &view, array, where);
  }
  // Makes a texture object of device memory. The channels are those of ArrayShape. Driver calls: as above.
  template <class T>
  static TextureObject create(DeviceSpan<T> memory, ArrayFormat format, unsigned channels = 1,
                              const TextureOptions &options = {}, Driver &driver = cushim::driver(),
                              Where where = Where::current()) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = memory.data().address();
    resource.res.linear.format = static_cast<CUarray_format>(format);
    resource.res.linear.numChannels = channels;
    resource.res.linear.sizeInBytes = memory.size_bytes();
    return of(resource, options, nullptr, detail::Through{&driver}, where);
  }

  // The same in a given context. Driver calls: push, as above, pop; at the end push, cuTexObjectDestroy, pop.
  static TextureObject create(ContextRef context, const ArrayRef &array, const TextureOptions &options = {},
                              Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(array, options, where); });
  }
  static TextureObject create(ContextRef context, const MipmappedArrayRef &array,
                              const TextureOptions &options = {}, Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(array, options, where); });
  }
  static TextureObject create(ContextRef context, const MipmappedArrayRef &array,
                              const TextureOptions &options, const CUDA_RESOURCE_VIEW_DESC &view,
                              Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(array, options, view, where); });
  }
  template <class T>
  static TextureObject create(ContextRef context, DeviceSpan<T> memory, ArrayFormat format,
                              unsigned channels = 1, const TextureOptions &options = {},
                              Where where = Where::current()) {
    return detail::Creation::in(
        context, where, [&] { return create(memory, format, channels, options, context.driver(), where); });
  }
  // The same in a device's primary context, which the object retains until it is destroyed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuTexObjectDestroy, pop,
  // cuDevicePrimaryCtxRelease.
  static TextureObject create(Device device, const ArrayRef &array, const TextureOptions &options = {},
                              Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(array, options, where); });
  }
  static TextureObject create(Device device, const MipmappedArrayRef &array,
                              const TextureOptions &options = {}, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(array, options, where); });
  }
  static TextureObject create(Device device, const MipmappedArrayRef &array, const TextureOptions &options,
                              const CUDA_RESOURCE_VIEW_DESC &view, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(array, options, view, where); });
  }
  template <class T>
  static TextureObject create(Device device, DeviceSpan<T> memory, ArrayFormat format, unsigned channels = 1,
                              const TextureOptions &options = {}, Where where = Where::current()) {
    return detail::Creation::on(
        device, where, [&] { return create(memory, format, channels, options, device.driver(), where); });
  }

  // Returns the object's context, if it was given at creation; the driver has no query for it. No driver
  // call.
  std::optional<ContextRef> context() const noexcept { return home().context(); }

 private:
  using Owner::Owner;
  template <class Thing>
  static TextureObject of(const CUDA_RESOURCE_DESC &resource, const TextureOptions &options,
                          const CUDA_RESOURCE_VIEW_DESC *view, const Thing &thing, Where where) {
    const CUDA_TEXTURE_DESC raw = options.raw();
    CUtexObject handle = 0;
    detail::check(thing.driver().cuTexObjectCreate(&handle, &resource, &raw, view), "cuTexObjectCreate",
                  where, thing);
    return TextureObject(handle, thing.driver(), 0);
  }
};

// Owns a surface object. Its array must have ArrayFlags::surfaces, and be valid while kernels use it. The
// driver needs a current context to destroy it; any context will do.
class SurfaceObject : public detail::Owner<SurfaceObject, SurfaceObjectRef, SurfaceObjectCalls,
                                           detail::ContextToDestroy::any> {
 public:
  // Makes a surface object of an array in the current context, which must be that of the array or have access
  // to its peer memory. Driver calls: cuSurfObjectCreate; at the end cuSurfObjectDestroy.
  static SurfaceObject create(const ArrayRef &array, Where where = Where::current()) {
    const CUDA_RESOURCE_DESC resource = detail::resource_of(array);
    CUsurfObject handle = 0;
    detail::check(array.driver().cuSurfObjectCreate(&handle, &resource), "cuSurfObjectCreate", where, array);
    return SurfaceObject(handle, array.driver(), 0);
  }
  // The same in a given context. Driver calls: push, as above, pop; at the end push, cuSurfObjectDestroy,
  // pop.
  static SurfaceObject create(ContextRef context, const ArrayRef &array, Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(array, where); });
  }
  // The same in a device's primary context, which the object retains until it is destroyed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuSurfObjectDestroy, pop,
  // cuDevicePrimaryCtxRelease.
  static SurfaceObject create(Device device, const ArrayRef &array, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(array, where); });
  }

  // Returns the object's context, if it was given at creation; the driver has no query for it. No driver
  // call.
  std::optional<ContextRef> context() const noexcept { return home().context(); }

 private:
  using Owner::Owner;
};

}  // namespace v1
}  // namespace cushim
