// SPDX-License-Identifier: Apache-2.0
#include "api/textures.hpp"

#include <cstring>

#include "copy/copy_endpoint.hpp"
#include "kernels/textures.hpp"

namespace cushim::sim {
namespace {

// Returns an enumeration as a number, because the program may have set an invalid value.
template <class Enum>
unsigned number_of(const Enum &value) {
  unsigned number;
  static_assert(sizeof value == sizeof number);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

[[noreturn]] void fail_unsupported(Call &call, const char *what) {
  call.system.engine.report(std::string(call.name) + ": the simulated driver does not read " + what);
  fail(CUDA_ERROR_NOT_SUPPORTED);
}

struct Limit {
  const Device &device;
  std::size_t operator()(CUdevice_attribute attribute) const {
    return static_cast<std::size_t>(device.attribute(attribute));
  }
};

// Checks linear memory of a format, and that the context can access it. Returns the format of its elements.
ptx::TexelFormat require_memory(Call &call, const Context &context, CUdeviceptr address, std::size_t bytes,
                                CUarray_format format, unsigned channels, unsigned flags) {
  const Limit limit{*context.device};
  require(number_of(format) <= 0xff);
  const auto texel = texel_format(format, channels, flags);
  require(texel.has_value() && element_of(format, channels).bytes != 0);
  require(address != 0 && address % limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) == 0);
  const CopyEndpoint memory = device_endpoint(call, address, bytes);
  require(reaches(context, *memory.allocation));
  return *texel;
}

void require_linear(Call &call, const Context &context, const TextureSource &source) {
  const auto &linear = source.resource.res.linear;
  const ptx::TexelFormat format = require_memory(call, context, linear.devPtr, linear.sizeInBytes,
                                                 linear.format, linear.numChannels, source.sampling.flags);
  require(linear.sizeInBytes / format.bytes() <=
          Limit{*context.device}(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
}

void require_pitch(Call &call, const Context &context, const TextureSource &source) {
  const Limit limit{*context.device};
  const auto &pitch = source.resource.res.pitch2D;
  require(pitch.width <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH));
  require(pitch.height <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT));
  require(pitch.pitchInBytes <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) &&
          pitch.pitchInBytes % limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) == 0);
  const std::size_t row = pitch.width * element_of(pitch.format, pitch.numChannels).bytes;
  const std::size_t rows_before = pitch.height != 0 ? pitch.height - 1 : 0;
  require_memory(call, context, pitch.devPtr, rows_before * pitch.pitchInBytes + row, pitch.format,
                 pitch.numChannels, source.sampling.flags);
}

// Checks the format of an array with this shape, and its view.
void require_view(Call &call, const CUDA_ARRAY3D_DESCRIPTOR &shape, std::size_t levels,
                  const TextureSource &source) {
  const auto own = texel_format(shape.Format, shape.NumChannels, source.sampling.flags);
  if (!own) fail_unsupported(call, "compressed or packed formats");
  if (!source.view) return;
  const CUDA_RESOURCE_VIEW_DESC &view = *source.view;
  const unsigned format = number_of(view.format);
  require(format != CU_RES_VIEW_FORMAT_NONE && format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7);
  if (format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1) fail_unsupported(call, "views with compressed formats");
  require(view.width == shape.Width && view.height == shape.Height && view.depth == shape.Depth);
  require(view.firstMipmapLevel <= view.lastMipmapLevel && view.lastMipmapLevel < levels);
  const std::size_t layers = is_layered(shape) ? shape.Depth : 1;
  require(view.firstLayer <= view.lastLayer && view.lastLayer < layers);
  require(texel_format(view.format, source.sampling.flags)->bytes() == own->bytes());
}

void require_array(Call &call, const TextureSource &source) {
  const CUDA_RESOURCE_DESC &resource = source.resource;
  const unsigned flags = source.sampling.flags;
  const CUDA_ARRAY3D_DESCRIPTOR *shape = nullptr;
  std::size_t levels = 1;
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY) {
    shape = &call.array(resource.res.array.hArray, CUDA_ERROR_INVALID_VALUE).shape;
  } else {
    const CUmipmappedArray handle = resource.res.mipmap.hMipmappedArray;
    const auto *const array = call.system.handles.find<MipmappedArray>(handle);
    if (array == nullptr || !array->is_usable()) {
      call.report_misuse(handle, Kind::mipmapped_array);
      fail(CUDA_ERROR_INVALID_VALUE);
    }
    shape = &array->shape;
    levels = array->levels.size();
  }
  require((flags & CU_TRSF_SEAMLESS_CUBEMAP) == 0 || (shape->Flags & CUDA_ARRAY3D_CUBEMAP) != 0);
  require_view(call, *shape, levels, source);
}

}  // namespace

void require_valid(Call &call, const Context &context, const TextureSource &source) {
  constexpr unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                             CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
  const CUDA_TEXTURE_DESC &sampling = source.sampling;
  const unsigned type = number_of(source.resource.resType);
  require(source.resource.flags == 0 && type <= CU_RESOURCE_TYPE_PITCH2D);
  const bool is_array = type == CU_RESOURCE_TYPE_ARRAY || type == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  require((sampling.flags & ~known) == 0);
  require(is_array || (sampling.flags & CU_TRSF_SEAMLESS_CUBEMAP) == 0);
  for (const CUaddress_mode &mode : sampling.addressMode)
    require(number_of(mode) <= CU_TR_ADDRESS_MODE_BORDER);
  require(number_of(sampling.filterMode) <= CU_TR_FILTER_MODE_LINEAR);
  require(number_of(sampling.mipmapFilterMode) <= CU_TR_FILTER_MODE_LINEAR);
  if (is_array) {
    require_array(call, source);
  } else if (type == CU_RESOURCE_TYPE_LINEAR) {
    require_linear(call, context, source);
  } else {
    require_pitch(call, context, source);
  }
}

Array &surface_array(Call &call, CUarray handle) {
  Array &array = call.array(handle, CUDA_ERROR_INVALID_VALUE);
  if (!texel_format(array.shape.Format, array.shape.NumChannels, 0))
    fail_unsupported(call, "surfaces with compressed or packed formats");
  return array;
}

}  // namespace cushim::sim
