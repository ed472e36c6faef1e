// SPDX-License-Identifier: Apache-2.0
#include "api/textures.hpp"

#include <optional>

#include "api/reserved.hpp"
#include "kernels/textures.hpp"

namespace cushim::sim {
namespace {

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

void require_aligned(const Context &context, CUdeviceptr address) {
  require(address % Limit{*context.device}(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) == 0);
}

// Returns the size of an element of linear or pitched memory.
std::size_t require_format(const CUarray_format &format, unsigned channels) {
  require(number_of(format) <= 0xff);
  require(texel_format(format, channels, 0).has_value());
  const std::size_t bytes = element_of(format, channels).bytes;
  require(bytes != 0);
  return bytes;
}

// The calls check the address of linear and pitched memory, but not whether memory is there. Measured on an
// H200, driver 580.
void require_linear(const Context &context, const CUDA_RESOURCE_DESC &resource) {
  const auto &linear = resource.res.linear;
  const std::size_t element = require_format(linear.format, linear.numChannels);
  require_aligned(context, linear.devPtr);
  require(linear.sizeInBytes / element <=
          Limit{*context.device}(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
}

void require_pitch(const Context &context, const CUDA_RESOURCE_DESC &resource) {
  const Limit limit{*context.device};
  const auto &pitch = resource.res.pitch2D;
  require(pitch.width <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH));
  require(pitch.height <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT));
  require(pitch.pitchInBytes <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) &&
          pitch.pitchInBytes % limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) == 0);
  require_aligned(context, pitch.devPtr);
}

// Checks the format of an array with this shape, and its view. Measured on an H200, driver 580: extents of a
// view are read as 32 bits, and the last level is compared with the levels of plain arrays only.
// `levels` is the number of levels; empty for a plain array.
void require_view(Call &call, const CUDA_ARRAY3D_DESCRIPTOR &shape, std::optional<std::size_t> levels,
                  const TextureSource &source) {
  const auto own = texel_format(shape.Format, shape.NumChannels, source.sampling.flags);
  if (!own) fail_unsupported(call, "compressed or packed formats");
  if (!source.view) return;
  const CUDA_RESOURCE_VIEW_DESC &view = *source.view;
  const unsigned format = number_of(view.format);
  require(format != CU_RES_VIEW_FORMAT_NONE && format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7);
  if (format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1) fail_unsupported(call, "views with compressed formats");
  require(static_cast<unsigned>(view.width) == shape.Width);
  require(static_cast<unsigned>(view.height) == shape.Height);
  require(static_cast<unsigned>(view.depth) == shape.Depth);
  require(view.firstMipmapLevel <= view.lastMipmapLevel);
  require(levels ? view.firstMipmapLevel < *levels : view.lastMipmapLevel == 0);
  const std::size_t layers = is_layered(shape) ? shape.Depth : 1;
  require(view.firstLayer <= view.lastLayer && view.lastLayer < layers);
  require(texel_format(view.format, source.sampling.flags)->bytes() == own->bytes());
}

void require_array(Call &call, const TextureSource &source) {
  const CUDA_RESOURCE_DESC &resource = source.resource;
  const unsigned flags = source.sampling.flags;
  const CUDA_ARRAY3D_DESCRIPTOR *shape = nullptr;
  std::optional<std::size_t> levels;
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

// Returns the number of address modes that are checked: of the dimensions of the memory or array. Measured on
// an H200, driver 580, except for arrays with one or three dimensions.
std::size_t checked_modes(Call &call, const CUDA_RESOURCE_DESC &resource) {
  const CUDA_ARRAY3D_DESCRIPTOR *shape = nullptr;
  switch (number_of(resource.resType)) {
    case CU_RESOURCE_TYPE_LINEAR:
      return 1;
    case CU_RESOURCE_TYPE_ARRAY:
      if (const auto *const array = call.system.handles.find<Array>(resource.res.array.hArray))
        shape = &array->shape;
      break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      if (const auto *const array =
              call.system.handles.find<MipmappedArray>(resource.res.mipmap.hMipmappedArray))
        shape = &array->shape;
      break;
    default:
      break;
  }
  return shape != nullptr && shape->Depth != 0 ? 3 : 2;
}

}  // namespace

void require_reachable(Call &call, const Context &context, const CUDA_RESOURCE_DESC &resource) {
  if (resource.resType != CU_RESOURCE_TYPE_ARRAY) return;
  Context *const owner = call.array(resource.res.array.hArray).context;
  require(owner == &context || context.peers.contains(owner), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

void require_valid(Call &call, const Context &context, const TextureSource &source) {
  constexpr unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                             CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
  const CUDA_TEXTURE_DESC &sampling = source.sampling;
  const unsigned type = number_of(source.resource.resType);
  require(source.resource.flags == 0 && type <= CU_RESOURCE_TYPE_PITCH2D);
  const bool is_array = type == CU_RESOURCE_TYPE_ARRAY || type == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  require((sampling.flags & ~known) == 0);
  require(is_zero(sampling.reserved) && (!source.view || is_zero(source.view->reserved)));
  require(is_array || (sampling.flags & CU_TRSF_SEAMLESS_CUBEMAP) == 0);
  for (std::size_t i = 0; i < checked_modes(call, source.resource); ++i)
    require(number_of(sampling.addressMode[i]) <= CU_TR_ADDRESS_MODE_BORDER);
  require(number_of(sampling.filterMode) <= CU_TR_FILTER_MODE_LINEAR);
  require(number_of(sampling.mipmapFilterMode) <= CU_TR_FILTER_MODE_LINEAR);
  if (is_array) {
    require_array(call, source);
  } else if (type == CU_RESOURCE_TYPE_LINEAR) {
    require_linear(context, source.resource);
    require(source.resource.res.linear.devPtr != 0);
  } else {
    const auto &pitch = source.resource.res.pitch2D;
    require_format(pitch.format, pitch.numChannels);
    require(pitch.devPtr != 0);
    require_pitch(context, source.resource);
  }
}

void require_bindable(const Context &context, const CUDA_RESOURCE_DESC &resource) {
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
    require_linear(context, resource);
  } else {
    require_pitch(context, resource);
  }
}

Array &surface_array(Call &call, CUarray handle) {
  Array &array = call.array(handle, CUDA_ERROR_INVALID_VALUE);
  if (!texel_format(array.shape.Format, array.shape.NumChannels, 0))
    fail_unsupported(call, "surfaces with compressed or packed formats");
  return array;
}

}  // namespace cushim::sim
