// SPDX-License-Identifier: Apache-2.0
#include "objects/array.hpp"

#include <iterator>

#include "memory/array_tiles.hpp"
#include "memory/memory.hpp"
#include "memory/rounding.hpp"
#include "objects/device.hpp"

namespace cushim::sim {

namespace {

constexpr std::size_t at_least_one(std::size_t extent) { return std::max<std::size_t>(extent, 1); }

// Returns the least power of two that is at least `count`; at most 16.
constexpr std::size_t stacked(std::size_t count) {
  std::size_t stack = 1;
  while (stack < count && stack < 16) stack *= 2;
  return stack;
}

// Limits of one kind of texture or surface. A limit of 0 means that the extent must be 0.
struct Limits {
  std::size_t width, height, depth;

  bool hold(const CUDA_ARRAY3D_DESCRIPTOR &shape) const {
    const auto fits = [](std::size_t extent, std::size_t limit) {
      return limit == 0 ? extent == 0 : extent >= 1 && extent <= limit;
    };
    return fits(shape.Width, width) && fits(shape.Height, height) && fits(shape.Depth, depth);
  }
};

}  // namespace

bool Array::is_usable() const noexcept {
  return context->is_alive && (allocation == nullptr || allocation->is_usable());
}

bool MipmappedArray::is_usable() const noexcept {
  return context->is_alive && (allocation == nullptr || allocation->is_usable());
}

Element element_of(CUarray_format format, unsigned channels) noexcept {
  // Compares numbers, since older headers lack some of the names.
  const int number = static_cast<int>(format);
  const auto packed = [&](std::size_t bytes) {
    return channels == 1 || channels == 2 || channels == 4 ? Element{bytes * channels} : Element{};
  };
  const auto only = [&](unsigned wanted, std::size_t bytes, std::size_t side) {
    return channels == wanted ? Element{bytes, side} : Element{};
  };
  switch (number) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return packed(1);
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return packed(2);
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return packed(4);
    case 0x50:  // 10, 10, 10 and 2 bits
      return only(4, 4, 1);
    default:
      break;
  }
  // Compressed blocks of 4 x 4 texels: BC1 to BC7.
  struct Block {
    unsigned channels;
    std::size_t bytes;
  };
  static constexpr Block blocks[] = {{4, 8}, {4, 8},  {4, 16}, {4, 16}, {4, 16}, {4, 16}, {1, 8},
                                     {1, 8}, {2, 16}, {2, 16}, {3, 16}, {3, 16}, {4, 16}, {4, 16}};
  constexpr int first_block = 0x91;
  if (number >= first_block && number < first_block + static_cast<int>(std::size(blocks))) {
    const Block &block = blocks[number - first_block];
    return only(block.channels, block.bytes, 4);
  }
  // Normalized integers: unsigned 8 and 16 bits, then signed 8 and 16 bits, each with 1, 2 and 4 channels.
  if (number >= 0xc0 && number <= 0xcb) {
    const unsigned wanted = 1u << (number - 0xc0) % 3;
    return only(wanted, wanted * ((number - 0xc0) / 3 % 2 == 0 ? 1 : 2), 1);
  }
  return {};  // formats of several planes, too: an H200 rejects them
}

Extent extent_of(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept {
  const Element element = element_of(shape.Format, shape.NumChannels);
  const auto blocks = [&](std::size_t extent) { return (extent + element.side - 1) / element.side; };
  return {blocks(shape.Width) * element.bytes, at_least_one(blocks(shape.Height)), at_least_one(shape.Depth)};
}

std::size_t padded_size(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept {
  const Extent extent = extent_of(shape);
  const std::size_t row = rounded_up(extent.row, 64);
  const bool is_deep = shape.Depth != 0 && !is_layered(shape);
  const std::size_t rows = rounded_up(extent.rows, 8 * (is_deep ? 1 : stacked((extent.rows + 7) / 8)));
  const std::size_t slices = is_deep ? rounded_up(extent.slices, stacked(extent.slices)) : extent.slices;
  return row * rows * slices;
}

std::size_t memory_needed(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept {
  return rounded_up(padded_size(shape), kArrayUnit);
}

CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned level) noexcept {
  const auto smaller = [level](std::size_t extent) {
    return extent == 0 ? 0 : at_least_one(extent >> level);
  };
  CUDA_ARRAY3D_DESCRIPTOR made = shape;
  made.Width = smaller(shape.Width);
  made.Height = smaller(shape.Height);
  if (!is_layered(shape)) made.Depth = smaller(shape.Depth);
  return made;
}

// Returns whether the format has blocks of 4 x 4 texels.
static bool is_compressed(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept {
  return element_of(shape.Format, shape.NumChannels).side > 1;
}

CUDA_ARRAY3D_DESCRIPTOR with_extents_of_32_bits(CUDA_ARRAY3D_DESCRIPTOR shape) noexcept {
  for (std::size_t *extent : {&shape.Width, &shape.Height, &shape.Depth}) *extent &= UINT32_MAX;
  return shape;
}

bool is_valid(const Device &device, const CUDA_ARRAY3D_DESCRIPTOR &shape, Levels levels) {
  if (element_of(shape.Format, shape.NumChannels).bytes == 0) return false;
  const unsigned flags = shape.Flags;
  // Bit 31 has no name in <cuda.h>, but the driver accepts it.
  constexpr unsigned video = 0x100, unnamed = 1u << 31;
  constexpr unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                             CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_SPARSE |
                             CUDA_ARRAY3D_DEFERRED_MAPPING | video | unnamed;
  if ((flags & ~known) != 0) return false;  // depth textures and attachments need graphics interop
  const auto limit = [&](CUdevice_attribute attribute) {
    return static_cast<std::size_t>(device.attribute(attribute));
  };
#define LIMIT(name) limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_##name)
  const bool surface = (flags & CUDA_ARRAY3D_SURFACE_LDST) != 0, many = levels == Levels::many;
  const bool has_layers = (flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    if (shape.Width != shape.Height || (has_layers ? shape.Depth % 6 != 0 : shape.Depth != 6)) return false;
    const Limits texture =
        has_layers ? Limits{LIMIT(TEXTURECUBEMAP_LAYERED_WIDTH), LIMIT(TEXTURECUBEMAP_LAYERED_WIDTH),
                            LIMIT(TEXTURECUBEMAP_LAYERED_LAYERS)}
                   : Limits{LIMIT(TEXTURECUBEMAP_WIDTH), LIMIT(TEXTURECUBEMAP_WIDTH), 6};
    const Limits surfaces =
        has_layers ? Limits{LIMIT(SURFACECUBEMAP_LAYERED_WIDTH), LIMIT(SURFACECUBEMAP_LAYERED_WIDTH),
                            LIMIT(SURFACECUBEMAP_LAYERED_LAYERS)}
                   : Limits{LIMIT(SURFACECUBEMAP_WIDTH), LIMIT(SURFACECUBEMAP_WIDTH), 6};
    return texture.hold(shape) && (!surface || surfaces.hold(shape));
  }
  const bool is_plane = shape.Height != 0 && shape.Depth == 0;
  if ((flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0) {
    const Limits gathers = {LIMIT(TEXTURE2D_GATHER_WIDTH), LIMIT(TEXTURE2D_GATHER_HEIGHT), 0};
    if (!is_plane || has_layers || !gathers.hold(shape)) return false;
  }
  if (is_sparse(shape) && (shape.Height == 0 || is_deferred(shape) || surface)) return false;
  if (is_compressed(shape) && shape.Height == 0) return false;
  if (has_layers) {
    if (shape.Height == 0)
      return Limits{LIMIT(TEXTURE1D_LAYERED_WIDTH), 0, LIMIT(TEXTURE1D_LAYERED_LAYERS)}.hold(shape) &&
             (!surface ||
              Limits{LIMIT(SURFACE1D_LAYERED_WIDTH), 0, LIMIT(SURFACE1D_LAYERED_LAYERS)}.hold(shape));
    return Limits{LIMIT(TEXTURE2D_LAYERED_WIDTH), LIMIT(TEXTURE2D_LAYERED_HEIGHT),
                  LIMIT(TEXTURE2D_LAYERED_LAYERS)}
               .hold(shape) &&
           (!surface || Limits{LIMIT(SURFACE2D_LAYERED_WIDTH), LIMIT(SURFACE2D_LAYERED_HEIGHT),
                               LIMIT(SURFACE2D_LAYERED_LAYERS)}
                            .hold(shape));
  }
  if (is_plane) {
    const Limits texture =
        many ? Limits{LIMIT(TEXTURE2D_MIPMAPPED_WIDTH), LIMIT(TEXTURE2D_MIPMAPPED_HEIGHT), 0}
             : Limits{LIMIT(TEXTURE2D_WIDTH), LIMIT(TEXTURE2D_HEIGHT), 0};
    return texture.hold(shape) &&
           (!surface || Limits{LIMIT(SURFACE2D_WIDTH), LIMIT(SURFACE2D_HEIGHT), 0}.hold(shape));
  }
  if (shape.Depth != 0) {
    const Limits usual = {LIMIT(TEXTURE3D_WIDTH), LIMIT(TEXTURE3D_HEIGHT), LIMIT(TEXTURE3D_DEPTH)};
    const Limits other = {LIMIT(TEXTURE3D_WIDTH_ALTERNATE), LIMIT(TEXTURE3D_HEIGHT_ALTERNATE),
                          LIMIT(TEXTURE3D_DEPTH_ALTERNATE)};
    if (shape.Height == 0) return false;
    return (usual.hold(shape) || other.hold(shape)) &&
           (!surface ||
            Limits{LIMIT(SURFACE3D_WIDTH), LIMIT(SURFACE3D_HEIGHT), LIMIT(SURFACE3D_DEPTH)}.hold(shape));
  }
  const Limits line = {many ? LIMIT(TEXTURE1D_MIPMAPPED_WIDTH) : LIMIT(TEXTURE1D_WIDTH), 0, 0};
  return line.hold(shape) && (!surface || Limits{LIMIT(SURFACE1D_WIDTH), 0, 0}.hold(shape));
#undef LIMIT
}

CUresult check(const Device &device, const CUDA_ARRAY3D_DESCRIPTOR &shape, Levels levels) {
  constexpr unsigned usual = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST;
  const bool has_extents =
      shape.Width != 0 && (is_layered(shape) ? shape.Depth != 0 : shape.Height != 0 || shape.Depth == 0);
  const bool is_compressed_surface = is_compressed(shape) && (shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0;
  // Measured, driver 580: before the limits.
  if (is_compressed_surface && (shape.Flags & ~usual) == 0 && has_extents) return CUDA_ERROR_NOT_SUPPORTED;
  if (!is_valid(device, shape, levels)) return CUDA_ERROR_INVALID_VALUE;
  return is_compressed_surface ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

Tile tile_of(const CUDA_ARRAY3D_DESCRIPTOR &shape) noexcept {
  const Element element = element_of(shape.Format, shape.NumChannels);
  // A tile has 64 KiB; its sides are powers of two, as close to a square or a cube as possible.
  unsigned log = 0;
  while (std::size_t{1} << log < element.bytes) ++log;
  static constexpr Tile planes[] = {{256, 256}, {256, 128}, {128, 128}, {128, 64}, {64, 64}};
  static constexpr Tile cubes[] = {{64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
  Tile tile = shape.Depth > 0 && !is_layered(shape) ? cubes[log] : planes[log];
  tile.width *= static_cast<unsigned>(element.side);
  tile.height *= static_cast<unsigned>(element.side);
  return tile;
}

}  // namespace cushim::sim
