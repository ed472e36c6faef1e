// SPDX-License-Identifier: Apache-2.0
#include "kernels/textures.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "copy/copy_endpoint.hpp"
#include "kernels/module.hpp"
#include "machine/system.hpp"
#include "memory/array_tiles.hpp"

namespace cushim::sim {
namespace {

std::optional<ptx::TexelFormat> with_flags(ptx::ChannelType type, unsigned channels, unsigned flags) {
  if (channels != 1 && channels != 2 && channels != 4) return std::nullopt;
  const bool is_small_integer = type <= ptx::ChannelType::s16;
  return ptx::TexelFormat{type, static_cast<std::uint8_t>(channels),
                          is_small_integer && (flags & CU_TRSF_READ_AS_INTEGER) == 0};
}

std::uint32_t at_least_one(std::size_t extent) {
  return static_cast<std::uint32_t>(std::max<std::size_t>(extent, 1));
}

// The tiles of an array, as they are when a launch first uses it.
class TilesOfLaunch final : public ptx::SparseMemory {
 public:
  TilesOfLaunch(TileMap map, std::size_t first_layer) : map_(std::move(map)), first_layer_(first_layer) {}
  std::byte *at(std::uint64_t x, std::uint64_t y, std::uint64_t z) const override {
    return map_.at(x, y, first_layer_ + z);
  }

 private:
  const TileMap map_;
  const std::size_t first_layer_;
};

ptx::Image image_of(System &system, const Array &array, std::size_t first_layer = 0) {
  ptx::Image image;
  if (array.tiles != nullptr)
    image.sparse = std::make_shared<TilesOfLaunch>(array.tiles->map.snapshot(), first_layer);
  if (array.allocation != nullptr)
    image.host = system.memory.bytes(array.allocation->base + array.offset, array.extent.bytes());
  image.width = at_least_one(array.shape.Width);
  image.height = at_least_one(array.shape.Height);
  image.depth = at_least_one(array.shape.Depth);
  image.has_depth = array.shape.Depth != 0;  // measured on an H200, driver 580
  image.row_bytes = array.extent.row;
  image.slice_bytes = array.extent.row * array.extent.rows;
  return image;
}

// Returns the memory at an address; null if kernels of the context cannot access all of it.
std::byte *memory_at(System &system, const Context &context, CUdeviceptr address, std::size_t bytes) {
  const Allocation *const allocation = system.memory.find_for_kernel(address, bytes);
  if (allocation == nullptr || !reaches(context, *allocation)) return nullptr;
  return system.memory.bytes_to_read(address, bytes);
}

// Adds the images of an array or of the levels of a mipmapped array. Returns false if it does not exist.
// While a call that destroys it waits for a kernel, it exists.
bool add_levels(System &system, const Context &context, const TextureSource &source, ptx::Texture &texture) {
  const CUDA_RESOURCE_DESC &resource = source.resource;
  const std::size_t first_layer = source.view ? source.view->firstLayer : 0;
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY) {
    const auto *const array = system.handles.find<Array>(resource.res.array.hArray);
    if (array == nullptr || array->context != &context) return false;
    texture.levels.push_back(image_of(system, *array, first_layer));
  } else {
    const auto *const whole = system.handles.find<MipmappedArray>(resource.res.mipmap.hMipmappedArray);
    if (whole == nullptr || whole->context != &context) return false;
    for (const Array *const level : whole->levels)
      texture.levels.push_back(image_of(system, *level, first_layer));
  }
  if (!source.view) return true;
  const CUDA_RESOURCE_VIEW_DESC &view = *source.view;
  if (view.firstMipmapLevel >= texture.levels.size()) return false;
  if (view.lastMipmapLevel < texture.levels.size()) texture.levels.resize(view.lastMipmapLevel + 1);
  texture.levels.erase(texture.levels.begin(), texture.levels.begin() + view.firstMipmapLevel);
  if (view.lastLayer == 0) return true;
  for (ptx::Image &image : texture.levels) {
    if (image.host != nullptr) image.host += first_layer * image.slice_bytes;
    image.depth = view.lastLayer - view.firstLayer + 1;
  }
  return true;
}

ptx::AddressMode address_mode(const CUaddress_mode &mode) {
  static constexpr std::pair<unsigned, ptx::AddressMode> modes[] = {
      {CU_TR_ADDRESS_MODE_WRAP, ptx::AddressMode::wrap},
      {CU_TR_ADDRESS_MODE_CLAMP, ptx::AddressMode::clamp},
      {CU_TR_ADDRESS_MODE_MIRROR, ptx::AddressMode::mirror}};
  for (const auto &[number, known] : modes)
    if (number == number_of(mode)) return known;
  return ptx::AddressMode::border;
}

ptx::Sampler sampler_of(const CUDA_TEXTURE_DESC &sampling) {
  ptx::Sampler sampler;
  for (std::size_t i = 0; i < sampler.address.size(); ++i)
    sampler.address[i] = address_mode(sampling.addressMode[i]);
  sampler.is_linear = number_of(sampling.filterMode) == CU_TR_FILTER_MODE_LINEAR;
  sampler.is_linear_in_level = sampling.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
  sampler.is_normalized = (sampling.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  sampler.is_srgb = (sampling.flags & CU_TRSF_SRGB) != 0;
  sampler.is_seamless = (sampling.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  sampler.level_bias = sampling.mipmapLevelBias;
  sampler.min_level = sampling.minMipmapLevelClamp;
  sampler.max_level = sampling.maxMipmapLevelClamp;
  for (std::size_t i = 0; i < sampler.border.size(); ++i)
    sampler.border[i] = std::bit_cast<std::uint32_t>(sampling.borderColor[i]);
  return sampler;
}

std::optional<ptx::TexelFormat> format_of(const System &system, const TextureSource &source) {
  const auto &resource = source.resource;
  const unsigned flags = source.sampling.flags;
  if (source.view && source.view->format != CU_RES_VIEW_FORMAT_NONE)
    return texel_format(source.view->format, flags);
  const CUDA_ARRAY3D_DESCRIPTOR *shape = nullptr;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_LINEAR:
      return texel_format(resource.res.linear.format, resource.res.linear.numChannels, flags);
    case CU_RESOURCE_TYPE_PITCH2D:
      return texel_format(resource.res.pitch2D.format, resource.res.pitch2D.numChannels, flags);
    case CU_RESOURCE_TYPE_ARRAY:
      if (const auto *const array = system.handles.find<Array>(resource.res.array.hArray))
        shape = &array->shape;
      break;
    default:
      if (const auto *const whole = system.handles.find<MipmappedArray>(resource.res.mipmap.hMipmappedArray))
        shape = &whole->shape;
  }
  return shape != nullptr ? texel_format(shape->Format, shape->NumChannels, flags) : std::nullopt;
}

// Returns whether a kernel can read the memory with these modes. Calls accept others, too.
bool can_be_read(const TextureSource &source) {
  if (source.resource.resType == CU_RESOURCE_TYPE_LINEAR) return true;
  const CUDA_TEXTURE_DESC &sampling = source.sampling;
  const auto is_known = [](const CUaddress_mode &mode) {
    return number_of(mode) <= CU_TR_ADDRESS_MODE_BORDER;
  };
  return std::ranges::all_of(sampling.addressMode, is_known) &&
         number_of(sampling.filterMode) <= CU_TR_FILTER_MODE_LINEAR;
}

}  // namespace

BoundReferences references_of(const Module &module) {
  BoundReferences references;
  for (const auto &[name, one] : module.texture_references)
    if (one->resource) references.textures[one->handle] = {*one->resource, one->sampling, {}};
  for (const auto &[name, one] : module.surface_references)
    if (one->array != nullptr) references.surfaces[one->handle] = one->array;
  return references;
}

std::optional<ptx::TexelFormat> texel_format(CUarray_format format, unsigned channels, unsigned flags) {
  using Type = ptx::ChannelType;
  const unsigned number = number_of(format);
  // Normalized integers: see element_of().
  if (number >= 0xc0 && number <= 0xcb) {
    constexpr Type types[] = {Type::u8, Type::u16, Type::s8, Type::s16};
    return with_flags(types[(number - 0xc0) / 3], channels, 0);
  }
  static constexpr std::pair<unsigned, Type> types[] = {
      {CU_AD_FORMAT_UNSIGNED_INT8, Type::u8},   {CU_AD_FORMAT_SIGNED_INT8, Type::s8},
      {CU_AD_FORMAT_UNSIGNED_INT16, Type::u16}, {CU_AD_FORMAT_SIGNED_INT16, Type::s16},
      {CU_AD_FORMAT_UNSIGNED_INT32, Type::u32}, {CU_AD_FORMAT_SIGNED_INT32, Type::s32},
      {CU_AD_FORMAT_HALF, Type::f16},           {CU_AD_FORMAT_FLOAT, Type::f32}};
  for (const auto &[known, type] : types)
    if (known == number) return with_flags(type, channels, flags);
  return std::nullopt;
}

std::optional<ptx::TexelFormat> texel_format(CUresourceViewFormat format, unsigned flags) {
  // Eight types, each with 1, 2 and 4 channels.
  using Type = ptx::ChannelType;
  constexpr Type types[] = {Type::u8,  Type::s8,  Type::u16, Type::s16,
                            Type::u32, Type::s32, Type::f16, Type::f32};
  const unsigned index = static_cast<unsigned>(format) - 1;
  if (index >= 3 * std::size(types)) return std::nullopt;
  return with_flags(types[index / 3], 1u << index % 3, flags);
}

std::optional<ptx::Texture> texture_of(System &system, Context &context, const TextureSource &source) {
  ptx::Texture texture;
  const auto format = format_of(system, source);
  if (!format) return std::nullopt;
  texture.format = *format;
  texture.sampler = sampler_of(source.sampling);
  // Whatever the descriptor says: measured on an H200, driver 580.
  if (source.resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) texture.sampler.is_normalized = true;
  if (!can_be_read(source)) return std::nullopt;
  const auto &linear = source.resource.res.linear;
  const auto &pitch = source.resource.res.pitch2D;
  ptx::Image image;
  switch (source.resource.resType) {
    case CU_RESOURCE_TYPE_LINEAR:
      texture.is_linear_memory = true;
      image.host = memory_at(system, context, linear.devPtr, linear.sizeInBytes);
      image.width = static_cast<std::uint32_t>(linear.sizeInBytes / format->bytes());
      break;
    case CU_RESOURCE_TYPE_PITCH2D:
      image.width = at_least_one(pitch.width);
      image.height = at_least_one(pitch.height);
      image.row_bytes = pitch.pitchInBytes;
      image.host =
          memory_at(system, context, pitch.devPtr,
                    (image.height - 1) * image.row_bytes + std::size_t{image.width} * format->bytes());
      break;
    default:
      if (!add_levels(system, context, source, texture)) return std::nullopt;
      return texture;
  }
  if (image.host == nullptr) return std::nullopt;
  texture.levels.push_back(image);
  return texture;
}

std::optional<ptx::Surface> surface_of(System &system, Context &context, CUarray handle) {
  const auto *const array = system.handles.find<Array>(handle);
  if (array == nullptr || array->context != &context) return std::nullopt;
  const auto format = texel_format(array->shape.Format, array->shape.NumChannels, CU_TRSF_READ_AS_INTEGER);
  if (!format) return std::nullopt;
  return ptx::Surface{*format, image_of(system, *array)};
}

}  // namespace cushim::sim
