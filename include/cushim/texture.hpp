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

}  // namespace detail

// The calls that TextureObjectRef and TextureObject have in common.
template <class Self>
class TextureObjectCalls : public detail::HandleCalls<Self, CUtexObject> {
 public:
  // Returns what the texture reads. Driver calls: cuTexObjectGetResourceDesc.
  CUDA_RESOURCE_DESC resource(Where where = Where::current()) const {
    return detail::ask<CUDA_RESOURCE_DESC>(
        this->self().ref(), "cuTexObjectGetResourceDesc", where, [this](CUDA_RESOURCE_DESC *out) {
          return this->driver().cuTexObjectGetResourceDesc(out, this->handle());
        });
  }
  // Returns how the texture reads it. Driver calls: cuTexObjectGetTextureDesc.
  CUDA_TEXTURE_DESC options(Where where = Where::current()) const {
    return detail::ask<CUDA_TEXTURE_DESC>(
        this->self().ref(), "cuTexObjectGetTextureDesc", where, [this](CUDA_TEXTURE_DESC *out) {
          return this->driver().cuTexObjectGetTextureDesc(out, this->handle());
        });
  }
  // Returns the part of the array and the format that the texture reads. Throws INVALID_VALUE if it was
  // created without a view. Driver calls: cuTexObjectGetResourceViewDesc.
  CUDA_RESOURCE_VIEW_DESC view(Where where = Where::current()) const {
    return detail::ask<CUDA_RESOURCE_VIEW_DESC>(
        this->self().ref(), "cuTexObjectGetResourceViewDesc", where, [this](CUDA_RESOURCE_VIEW_DESC *out) {
          return this->driver().cuTexObjectGetResourceViewDesc(out, this->handle());
        });
  }
};

// The calls that SurfaceObjectRef and SurfaceObject have in common.
template <class Self>
class SurfaceObjectCalls : public detail::HandleCalls<Self, CUsurfObject> {
 public:
  // Returns the array of the surface. Driver calls: cuSurfObjectGetResourceDesc.
  CUDA_RESOURCE_DESC resource(Where where = Where::current()) const {
    return detail::ask<CUDA_RESOURCE_DESC>(
        this->self().ref(), "cuSurfObjectGetResourceDesc", where, [this](CUDA_RESOURCE_DESC *out) {
          return this->driver().cuSurfObjectGetResourceDesc(out, this->handle());
        });
  }
};

namespace detail {

struct TextureObjectKind {
  using Handle = CUtexObject;
  static constexpr const char *kNoun = "texture object";
  template <class Self>
  using Calls = TextureObjectCalls<Self>;
};
struct SurfaceObjectKind {
  using Handle = CUsurfObject;
  static constexpr const char *kNoun = "surface object";
  template <class Self>
  using Calls = SurfaceObjectCalls<Self>;
};

}  // namespace detail

// A reference to a texture object. Owns nothing. Kernels take the handle().
using TextureObjectRef = detail::HandleRef<detail::TextureObjectKind>;
// A reference to a surface object. Owns nothing. Kernels take the handle().
using SurfaceObjectRef = detail::HandleRef<detail::SurfaceObjectKind>;

// Owns a texture object. Its array must be valid while kernels read it.
class TextureObject : public detail::Owner<TextureObject, TextureObjectRef, TextureObjectCalls> {
 public:
  // Empty.
  TextureObject() = default;

  // Makes a texture object of an array. Driver calls: cuTexObjectCreate; at the end cuTexObjectDestroy.
  static TextureObject create(const ArrayRef &array, const TextureOptions &options = {},
                              Where where = Where::current()) {
    return of(detail::resource_of(array), options, nullptr, array, where);
  }
  // The same of an array with mipmaps.
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

  // Takes ownership of an existing texture object. No driver call.
  static TextureObject adopt(CUtexObject handle, Driver &driver = cushim::driver()) noexcept {
    return TextureObject(handle, driver, 0);
  }

 private:
  using Base = detail::Owner<TextureObject, TextureObjectRef, TextureObjectCalls>;
  friend Base;
  using Base::Base;
  static constexpr const char *kDestroy = "cuTexObjectDestroy";
  static CUresult destroy(TextureObjectRef texture) noexcept {
    return texture.driver().cuTexObjectDestroy(texture.handle());
  }
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

// Owns a surface object. Its array must have ArrayFlags::surfaces, and be valid while kernels use it.
class SurfaceObject : public detail::Owner<SurfaceObject, SurfaceObjectRef, SurfaceObjectCalls> {
 public:
  // Empty.
  SurfaceObject() = default;

  // Makes a surface object of an array. Driver calls: cuSurfObjectCreate; at the end cuSurfObjectDestroy.
  static SurfaceObject create(const ArrayRef &array, Where where = Where::current()) {
    const CUDA_RESOURCE_DESC resource = detail::resource_of(array);
    CUsurfObject handle = 0;
    detail::check(array.driver().cuSurfObjectCreate(&handle, &resource), "cuSurfObjectCreate", where, array);
    return SurfaceObject(handle, array.driver(), 0);
  }
  // Takes ownership of an existing surface object. No driver call.
  static SurfaceObject adopt(CUsurfObject handle, Driver &driver = cushim::driver()) noexcept {
    return SurfaceObject(handle, driver, 0);
  }

 private:
  using Base = detail::Owner<SurfaceObject, SurfaceObjectRef, SurfaceObjectCalls>;
  friend Base;
  using Base::Base;
  static constexpr const char *kDestroy = "cuSurfObjectDestroy";
  static CUresult destroy(SurfaceObjectRef surface) noexcept {
    return surface.driver().cuSurfObjectDestroy(surface.handle());
  }
};

}  // namespace v1
}  // namespace cushim
