// SPDX-License-Identifier: Apache-2.0
// Texture and surface references, which texture and surface objects replaced. Errors are those of an H200,
// driver 580, where it was asked, else those of the documentation and cuda.h. A launch reads through the
// references of its module as they are at the launch.
#include <cstring>

#include "api/service.hpp"
#include "api/textures.hpp"
#include "kernels/module.hpp"

namespace cushim::sim {
namespace {

// Needs no current context: measured on an H200, driver 580.
TextureReference &texture(Call &call, CUtexref handle) {
  return require_healthy(call.object<TextureReference>(handle));
}

SurfaceReference &surface(Call &call, CUsurfref handle) {
  return find_texture_object<SurfaceReference>(call, handle, CUDA_ERROR_INVALID_HANDLE);
}

// `references`: Module::texture_references or Module::surface_references.
template <class Handle, class References>
CUresult get_reference(Call &call, Handle *out, CUmodule handle, const char *name,
                       const References Module::*references) {
  const Module &module = call.module(handle);
  require(out != nullptr && name != nullptr && *name != '\0');
  const auto found = (module.*references).find(name);
  require(found != (module.*references).end(), CUDA_ERROR_NOT_FOUND);
  *out = reinterpret_cast<Handle>(found->second->handle);
  return CUDA_SUCCESS;
}

CUresult get_texture_reference(Call &call, CUtexref *out, CUmodule handle, const char *name) {
  return get_reference(call, out, handle, name, &Module::texture_references);
}

CUresult get_surface_reference(Call &call, CUsurfref *out, CUmodule handle, const char *name) {
  return get_reference(call, out, handle, name, &Module::surface_references);
}

CUresult create(Call &call, CUtexref *out) {
  Context &context = call.context();
  require(out != nullptr);
  TextureReference &made = call.system.handles.add(std::make_unique<TextureReference>());
  made.context = &context;
  made.join(context.objects);
  *out = reinterpret_cast<CUtexref>(made.handle);
  return CUDA_SUCCESS;
}

CUresult destroy(Call &call, CUtexref handle) {
  const TextureReference &reference = texture(call, handle);
  require(reference.module == nullptr);
  call.system.handles.erase(reference, call.name);
  return CUDA_SUCCESS;
}

// ---- Binding ----

// Binds an array that is valid for a texture object with suitable modes: programs may set the modes later.
void bind_array(Call &call, TextureReference &reference, const CUDA_RESOURCE_DESC &resource) {
  CUDA_TEXTURE_DESC suitable = {};
  suitable.flags = CU_TRSF_NORMALIZED_COORDINATES;
  require_valid(call, *reference.context, {resource, suitable, {}});
  reference.resource = resource;
}

CUresult set_array(Call &call, CUtexref handle, CUarray array, unsigned flags) {
  TextureReference &reference = texture(call, handle);
  require(array != nullptr, CUDA_ERROR_INVALID_HANDLE);
  require((flags & ~unsigned{CU_TRSA_OVERRIDE_FORMAT}) == 0);
  const CUDA_ARRAY3D_DESCRIPTOR shape = call.array(array, CUDA_ERROR_INVALID_VALUE).shape;
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  bind_array(call, reference, resource);
  if (flags == 0) return CUDA_SUCCESS;  // keeps the format of the reference
  reference.format = shape.Format;
  reference.channels = shape.NumChannels;
  return CUDA_SUCCESS;
}

CUresult set_mipmapped_array(Call &call, CUtexref handle, CUmipmappedArray array, unsigned flags) {
  TextureReference &reference = texture(call, handle);
  require(array != nullptr, CUDA_ERROR_INVALID_HANDLE);
  require((flags & ~unsigned{CU_TRSA_OVERRIDE_FORMAT}) == 0);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = array;
  bind_array(call, reference, resource);
  if (flags == 0) return CUDA_SUCCESS;  // measured on an H200, driver 580
  const auto *const found = call.system.handles.find<MipmappedArray>(array);
  reference.format = found->shape.Format;
  reference.channels = found->shape.NumChannels;
  return CUDA_SUCCESS;
}

CUresult set_address(Call &call, std::size_t *offset, CUtexref handle, CUdeviceptr address,
                     std::size_t bytes) {
  if (offset != nullptr) *offset = 0;  // also if the call fails; measured, driver 580
  refuse_in_host_function(call);
  TextureReference &reference = texture(call, handle);
  const auto alignment =
      static_cast<CUdeviceptr>(reference.context->device->attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT));
  const CUdeviceptr beyond = address % alignment;
  require(offset != nullptr || beyond == 0);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = address - beyond;
  resource.res.linear.format = reference.format;
  resource.res.linear.numChannels = reference.channels;
  resource.res.linear.sizeInBytes = bytes + beyond;
  if (offset != nullptr) *offset = beyond;  // also if the call fails
  require_bindable(*reference.context, resource);
  reference.resource = resource;
  return CUDA_SUCCESS;
}

// Returns the bytes of a row of pitched memory; 0 if the format is not known, or has more than 4 channels.
std::size_t row_bytes(const CUDA_RESOURCE_DESC &resource) {
  const auto &pitch = resource.res.pitch2D;
  return pitch.numChannels <= 4 ? pitch.width * pitch.numChannels * element_of(pitch.format, 1).bytes : 0;
}

CUresult set_address_2d(Call &call, CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *shape, CUdeviceptr address,
                        std::size_t pitch) {
  TextureReference &reference = texture(call, handle);
  require(shape != nullptr);
  // Any format, any number of channels, extents of 32 bits, also at address 0.
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D.devPtr = address;
  std::memcpy(&resource.res.pitch2D.format, &shape->Format, sizeof shape->Format);
  resource.res.pitch2D.numChannels = shape->NumChannels;
  resource.res.pitch2D.width = static_cast<unsigned>(shape->Width);
  resource.res.pitch2D.height = static_cast<unsigned>(shape->Height);
  resource.res.pitch2D.pitchInBytes = pitch;
  require(row_bytes(resource) <= pitch);
  require_bindable(*reference.context, resource);
  reference.resource = resource;
  std::memcpy(&reference.format, &shape->Format, sizeof shape->Format);
  reference.channels = shape->NumChannels;
  return CUDA_SUCCESS;
}

// ---- Variants with addresses of 32 bits ----

CUresult set_address_of_32_bits(Call &call, unsigned *, CUtexref handle, unsigned, unsigned) {
  return texture(call, handle), kNeeds32BitAddresses;
}

CUresult set_address_2d_of_32_bits(Call &call, CUtexref handle, const CushimArrayDescriptor_v1 *, unsigned,
                                   unsigned) {
  return texture(call, handle), kNeeds32BitAddresses;
}

CUresult get_address_of_32_bits(Call &call, unsigned *, CUtexref handle) {
  return texture(call, handle), kNeeds32BitAddresses;
}

// ---- Bound memory ----

// Returns the memory of a reference of one type; INVALID_VALUE if it is bound to none of that type.
const CUDA_RESOURCE_DESC &bound(const TextureReference &reference, CUresourcetype type) {
  require(reference.resource.has_value() && reference.resource->resType == type);
  return *reference.resource;
}

CUresult get_address(Call &call, CUdeviceptr *out, CUtexref handle) {
  const TextureReference &reference = texture(call, handle);
  require(out != nullptr && reference.resource.has_value());
  *out = reference.resource->resType == CU_RESOURCE_TYPE_PITCH2D
             ? reference.resource->res.pitch2D.devPtr
             : bound(reference, CU_RESOURCE_TYPE_LINEAR).res.linear.devPtr;
  return CUDA_SUCCESS;
}

CUresult get_array(Call &call, CUarray *out, CUtexref handle) {
  const TextureReference &reference = texture(call, handle);
  require(out != nullptr);
  *out = bound(reference, CU_RESOURCE_TYPE_ARRAY).res.array.hArray;
  return CUDA_SUCCESS;
}

CUresult get_mipmapped_array(Call &call, CUmipmappedArray *out, CUtexref handle) {
  const TextureReference &reference = texture(call, handle);
  require(out != nullptr);
  *out = bound(reference, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY).res.mipmap.hMipmappedArray;
  return CUDA_SUCCESS;
}

// ---- Reading ----

// Changes how a reference is read. Modes that its memory cannot be read with make kernels fault: the calls
// check the filter between levels alone.
template <class Change>
CUresult change(Call &call, CUtexref handle, Change &&make) {
  TextureReference &reference = texture(call, handle);
  make(reference.sampling);
  return CUDA_SUCCESS;
}

// Stores a property of a reference.
template <class T, class Member>
CUresult get(Call &call, T *out, CUtexref handle, Member CUDA_TEXTURE_DESC::*property) {
  const TextureReference &reference = texture(call, handle);
  require(out != nullptr);
  static_assert(sizeof(T) == sizeof(Member));
  std::memcpy(out, &(reference.sampling.*property), sizeof *out);  // the enumerator may be invalid
  return CUDA_SUCCESS;
}

CUresult set_format(Call &call, CUtexref handle, CUarray_format format, int channels) {
  TextureReference &reference = texture(call, handle);
  // Any format, also no or a negative number of channels.
  require(channels <= 4 && channels != 3);
  if (reference.resource && reference.resource->resType == CU_RESOURCE_TYPE_LINEAR) {
    reference.resource->res.linear.format = format;
    reference.resource->res.linear.numChannels = static_cast<unsigned>(channels);
  }
  reference.format = format;
  reference.channels = static_cast<unsigned>(channels);
  return CUDA_SUCCESS;
}
CUresult get_format(Call &call, CUarray_format *format, int *channels, CUtexref handle) {
  const TextureReference &reference = texture(call, handle);
  if (format != nullptr) std::memcpy(format, &reference.format, sizeof *format);
  if (channels != nullptr) *channels = static_cast<int>(reference.channels);
  return CUDA_SUCCESS;
}

CUresult set_address_mode(Call &call, CUtexref handle, int dimension, CUaddress_mode mode) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) {
    require(dimension >= 0 && dimension < 3);
    sampling.addressMode[dimension] = mode;
  });
}
CUresult get_address_mode(Call &call, CUaddress_mode *out, CUtexref handle, int dimension) {
  const TextureReference &reference = texture(call, handle);
  require(out != nullptr && dimension >= 0 && dimension < 3);
  std::memcpy(out, &reference.sampling.addressMode[dimension], sizeof *out);
  return CUDA_SUCCESS;
}

CUresult set_filter_mode(Call &call, CUtexref handle, CUfilter_mode mode) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) { sampling.filterMode = mode; });
}
CUresult get_filter_mode(Call &call, CUfilter_mode *out, CUtexref handle) {
  return get(call, out, handle, &CUDA_TEXTURE_DESC::filterMode);
}

CUresult set_mipmap_filter_mode(Call &call, CUtexref handle, CUfilter_mode mode) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) {
    require(mode == CU_TR_FILTER_MODE_POINT || mode == CU_TR_FILTER_MODE_LINEAR);
    sampling.mipmapFilterMode = mode;
  });
}
CUresult get_mipmap_filter_mode(Call &call, CUfilter_mode *out, CUtexref handle) {
  return get(call, out, handle, &CUDA_TEXTURE_DESC::mipmapFilterMode);
}

CUresult set_level_bias(Call &call, CUtexref handle, float bias) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) { sampling.mipmapLevelBias = bias; });
}
CUresult get_level_bias(Call &call, float *out, CUtexref handle) {
  return get(call, out, handle, &CUDA_TEXTURE_DESC::mipmapLevelBias);
}

CUresult set_level_clamp(Call &call, CUtexref handle, float least, float most) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) {
    sampling.minMipmapLevelClamp = least;
    sampling.maxMipmapLevelClamp = most;
  });
}
CUresult get_level_clamp(Call &call, float *least, float *most, CUtexref handle) {
  const TextureReference &reference = texture(call, handle);
  require(least != nullptr && most != nullptr);
  *least = reference.sampling.minMipmapLevelClamp;
  *most = reference.sampling.maxMipmapLevelClamp;
  return CUDA_SUCCESS;
}

CUresult set_max_anisotropy(Call &call, CUtexref handle, unsigned most) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) { sampling.maxAnisotropy = most; });
}
CUresult get_max_anisotropy(Call &call, int *out, CUtexref handle) {
  return get(call, out, handle, &CUDA_TEXTURE_DESC::maxAnisotropy);
}

CUresult set_border_color(Call &call, CUtexref handle, float *color) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) {
    require(color != nullptr);
    std::memcpy(sampling.borderColor, color, sizeof sampling.borderColor);
  });
}
CUresult get_border_color(Call &call, float *out, CUtexref handle) {
  const TextureReference &reference = texture(call, handle);
  require(out != nullptr);
  std::memcpy(out, reference.sampling.borderColor, sizeof reference.sampling.borderColor);
  return CUDA_SUCCESS;
}

CUresult set_flags(Call &call, CUtexref handle, unsigned flags) {
  return change(call, handle, [&](CUDA_TEXTURE_DESC &sampling) {
    constexpr unsigned unnamed = 0x4 | 0x8;
    constexpr unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                               CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    require((flags & ~(known | unnamed)) == 0);
    sampling.flags = flags;
  });
}
CUresult get_flags(Call &call, unsigned *out, CUtexref handle) {
  return get(call, out, handle, &CUDA_TEXTURE_DESC::flags);
}

// Has no effect: the kernels of a module know its references.
CUresult set_parameter(Call &call, CUfunction function, int unit, CUtexref handle) {
  require(&call.context() == call.function(function).module->context, CUDA_ERROR_INVALID_HANDLE);
  require(texture(call, handle).module != nullptr);
  require(unit == CU_PARAM_TR_DEFAULT);
  return CUDA_SUCCESS;
}

// ---- Surface references ----

CUresult set_surface_array(Call &call, CUsurfref handle, CUarray array, unsigned flags) {
  SurfaceReference &reference = surface(call, handle);
  require(flags == 0);
  require((surface_array(call, array).shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0);
  reference.array = array;
  return CUDA_SUCCESS;
}
CUresult get_surface_array(Call &call, CUarray *out, CUsurfref handle) {
  const SurfaceReference &reference = surface(call, handle);
  require(out != nullptr && reference.array != nullptr);
  *out = reference.array;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_texture_references = {
    entry<"cuModuleGetTexRef", get_texture_reference>,
    entry<"cuTexRefCreate", create>,
    entry<"cuTexRefDestroy", destroy>,
    entry<"cuTexRefSetArray", set_array>,
    entry<"cuTexRefGetArray", get_array>,
    entry<"cuTexRefSetMipmappedArray", set_mipmapped_array>,
    entry<"cuTexRefGetMipmappedArray", get_mipmapped_array>,
    entry<"cuTexRefSetAddress_v2000", set_address_of_32_bits>,
    entry<"cuTexRefSetAddress", set_address>,
    entry<"cuTexRefGetAddress_v2000", get_address_of_32_bits>,
    entry<"cuTexRefGetAddress", get_address>,
    entry<"cuTexRefSetAddress2D_v2020", set_address_2d_of_32_bits>,
    entry<"cuTexRefSetAddress2D", set_address_2d>,
    entry<"cuTexRefSetFormat", set_format>,
    entry<"cuTexRefGetFormat", get_format>,
    entry<"cuTexRefSetAddressMode", set_address_mode>,
    entry<"cuTexRefGetAddressMode", get_address_mode>,
    entry<"cuTexRefSetFilterMode", set_filter_mode>,
    entry<"cuTexRefGetFilterMode", get_filter_mode>,
    entry<"cuTexRefSetMipmapFilterMode", set_mipmap_filter_mode>,
    entry<"cuTexRefGetMipmapFilterMode", get_mipmap_filter_mode>,
    entry<"cuTexRefSetMipmapLevelBias", set_level_bias>,
    entry<"cuTexRefGetMipmapLevelBias", get_level_bias>,
    entry<"cuTexRefSetMipmapLevelClamp", set_level_clamp>,
    entry<"cuTexRefGetMipmapLevelClamp", get_level_clamp>,
    entry<"cuTexRefSetMaxAnisotropy", set_max_anisotropy>,
    entry<"cuTexRefGetMaxAnisotropy", get_max_anisotropy>,
    entry<"cuTexRefSetBorderColor", set_border_color>,
    entry<"cuTexRefGetBorderColor", get_border_color>,
    entry<"cuTexRefSetFlags", set_flags>,
    entry<"cuTexRefGetFlags", get_flags>,
    entry<"cuParamSetTexRef", set_parameter>,
    entry<"cuModuleGetSurfRef", get_surface_reference>,
    entry<"cuSurfRefSetArray", set_surface_array>,
    entry<"cuSurfRefGetArray", get_surface_array>,
};

}  // namespace cushim::sim
