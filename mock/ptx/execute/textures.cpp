// SPDX-License-Identifier: Apache-2.0
// Texture fetches and queries.
#include "execute/textures.hpp"

#include <bit>
#include <iterator>

#include "execute/half.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

// Finds the textures and surfaces of lanes, which mostly have the same.
template <class Found, const Found *(Memory::*find)(std::uint64_t)>
class Finder {
 public:
  Finder(Warp &w, const Op *op) : memory_(*w.worker->launch->memory), handles_(reg<u64>(w, op->a)) {}
  // Returns null if there is none.
  const Found *of(unsigned lane) {
    if (!is_known_ || handles_[lane] != handle_) {
      handle_ = handles_[lane];
      found_ = (memory_.*find)(handle_);
      is_known_ = true;
    }
    return found_;
  }

 private:
  Memory &memory_;
  const u64 *const handles_;
  bool is_known_ = false;
  u64 handle_ = 0;
  const Found *found_ = nullptr;
};
using TextureFinder = Finder<Texture, &Memory::texture>;
using SurfaceFinder = Finder<Surface, &Memory::surface>;

const Op *no_texture(Warp &w, const Op *op, unsigned lane) {
  return fault(w, op, FaultKind::illegal_address, lane, reg<u64>(w, op->a)[lane],
               "the address is not a handle of a texture that can be read");
}

template <class T>
T operand(Warp &w, const ImageAccess &access, unsigned index, unsigned lane) {
  return access.at[index] == ImageAccess::absent ? T{} : reg<T>(w, access.at[index])[lane];
}

SamplePoint point_of(Warp &w, const ImageAccess &access, unsigned lane) {
  SamplePoint point;
  point.geometry = access.geometry;
  point.is_integer = access.has_integer_coordinates;
  unsigned from = ImageAccess::coordinates;
  if (is_layered(access.geometry)) point.layer = operand<u32>(w, access, from++, lane);
  for (unsigned axis = 0; axis < coordinates_of(access.geometry); ++axis) {
    if (point.is_integer)
      point.index[axis] = operand<s32>(w, access, from + axis, lane);
    else
      point.position[axis] = operand<f32>(w, access, from + axis, lane);
    point.offset[axis] = operand<s32>(w, access, ImageAccess::offsets + axis, lane);
  }
  return point;
}

f32 level_of(Warp &w, const ImageAccess &access, const Texture &texture, const SamplePoint &point,
             unsigned lane) {
  if (access.level_of == LevelOf::operand)
    return access.has_integer_coordinates ? f32(operand<s32>(w, access, ImageAccess::level, lane))
                                          : operand<f32>(w, access, ImageAccess::level, lane);
  if (access.level_of != LevelOf::gradients) return lowest_level;
  std::array<std::array<f32, 3>, 2> gradients{};
  for (unsigned i = 0; i < 6; ++i)
    gradients[i / 3][i % 3] = operand<f32>(w, access, ImageAccess::gradients + i, lane);
  return level_of_gradients(texture, point, gradients);
}

void store(Warp &w, const ImageAccess &access, unsigned lane, const Texel &texel, bool has_floats) {
  const auto half = [&](unsigned i) {
    return has_floats ? f16_of_f32(bits_as<f32>(texel[i])) : static_cast<u16>(texel[i]);
  };
  for (unsigned i = 0; i < 4; ++i) {
    const u32 to = access.at[ImageAccess::values + i];
    if (to == ImageAccess::absent) continue;
    if (access.results == Results::words) reg<u32>(w, to)[lane] = texel[i];
    if (access.results == Results::halves) reg<u16>(w, to)[lane] = half(i);
    if (access.results == Results::pairs) reg<u32>(w, to)[lane] = half(2 * i) | u32{half(2 * i + 1)} << 16;
  }
}

Texel gathered(const Texture &texture, const SamplePoint &point, unsigned channel) {
  const std::array<Texel, 4> elements = gather(texture, point);
  Texel texel;
  for (unsigned i = 0; i < 4; ++i) texel[i] = elements[i][channel];
  return texel;
}

const Op *fetch(Warp &w, const Op *op) {
  const auto &access = *static_cast<const ImageAccess *>(op->data);
  TextureFinder textures(w, op);
  u32 residents = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Texture *const texture = textures.of(lane);
    if (texture == nullptr) return no_texture(w, op, lane);
    const SamplePoint point = point_of(w, access, lane);
    const Texel texel = access.gathers ? gathered(*texture, point, access.channel)
                                       : sample(*texture, point, level_of(w, access, *texture, point, lane));
    store(w, access, lane, texel, reads_floats(texture->format));
    if (texture->levels.front().has_memory()) residents |= 1u << lane;
  }
  if (access.at[ImageAccess::resident] != ImageAccess::absent) {
    u32 &d = predicate(w, access.at[ImageAccess::resident]);
    d = (d & ~w.mask) | residents;
  }
  return op + 1;
}

// ---- Queries

// The numbers of OpenCL, which the PTX ISA names for these attributes.
u32 channel_data_type(const TexelFormat &format) {
  switch (format.type) {
    case ChannelType::s8:
      return format.is_normalized ? 0x10d0 : 0x10d7;
    case ChannelType::s16:
      return format.is_normalized ? 0x10d1 : 0x10d8;
    case ChannelType::u8:
      return format.is_normalized ? 0x10d2 : 0x10da;
    case ChannelType::u16:
      return format.is_normalized ? 0x10d3 : 0x10db;
    case ChannelType::s32:
      return 0x10d9;
    case ChannelType::u32:
      return 0x10dc;
    case ChannelType::f16:
      return 0x10dd;
    case ChannelType::f32:
      break;
  }
  return 0x10de;
}
u32 channel_order(const TexelFormat &format) {
  return format.channels == 1 ? 0x10b0 : format.channels == 2 ? 0x10b2 : 0x10b5;
}
u32 address_mode(AddressMode mode) {
  switch (mode) {
    case AddressMode::wrap:
      return 0;
    case AddressMode::mirror:
      return 1;
    case AddressMode::clamp:
      return 3;  // clamp_to_edge
    case AddressMode::border:
      break;
  }
  return 4;
}

// Returns one of the first six attributes of query_names.
u32 attribute(const TexelFormat &format, const Image &image, u32 query) {
  switch (query) {
    case 0:
      return image.width;
    case 1:
      return image.height;
    case 2:
      return image.has_depth ? image.depth : 0;
    case 3:
      return channel_data_type(format);
    case 4:
      return channel_order(format);
    default:
      return image.depth;  // the number of layers
  }
}
u32 attribute(const Texture &texture, u32 query, u32 level) {
  const Sampler &sampler = texture.sampler;
  switch (query) {
    case 6:
      return static_cast<u32>(texture.levels.size());
    case 7:
      return sampler.is_normalized ? 1 : 0;
    case 8:
      return sampler.is_linear ? 1 : 0;
    case 9:
    case 10:
    case 11:
      return address_mode(sampler.address[query - 9]);
    default:
      return attribute(texture.format,
                       texture.levels[std::min<std::size_t>(level, texture.levels.size() - 1)], query);
  }
}

// a: handle; b: level; extra: an index of query_names
const Op *query_texture(Warp &w, const Op *op) {
  TextureFinder textures(w, op);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Texture *const texture = textures.of(lane);
    if (texture == nullptr) return no_texture(w, op, lane);
    reg<u32>(w, op->d)[lane] = attribute(*texture, op->extra, reg<u32>(w, op->b)[lane]);
  }
  return op + 1;
}
const Op *query_surface(Warp &w, const Op *op) {
  SurfaceFinder surfaces(w, op);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Surface *const surface = surfaces.of(lane);
    if (surface == nullptr)
      return fault(w, op, FaultKind::illegal_address, lane, reg<u64>(w, op->a)[lane],
                   "the address is not a handle of a surface");
    reg<u32>(w, op->d)[lane] = attribute(surface->format, surface->image, op->extra);
  }
  return op + 1;
}

template <class Finder>
const Op *is_type(Warp &w, const Op *op) {
  Finder images(w, op);
  u32 found = 0;
  each(w.mask, [&](unsigned lane) { found |= (images.of(lane) != nullptr ? 1u : 0u) << lane; });
  u32 &d = predicate(w, op->d);
  d = (d & ~w.mask) | found;
  return op + 1;
}

}  // namespace

constinit const LaneTable texture_operations = {
    {"texture.fetch", fetch, ""},
    {"texture.query", query_texture, ""},
    {"surface.query", query_surface, ""},
    {"istypep.texref", is_type<TextureFinder>, "p8"},
    {"istypep.surfref", is_type<SurfaceFinder>, "p8"},
};

}  // namespace cushim::ptx::execute
