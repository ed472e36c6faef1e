// SPDX-License-Identifier: Apache-2.0
#include "execute/texture_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "execute/cube.hpp"
#include "execute/lanes_loop.hpp"
#include "execute/texture_filtering.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr s64 outside = -1;  // the border
constexpr s64 nowhere = -2;  // zeros

// A point in one layer. Coordinates of a face of a cube need more bits than a float has.
struct Located {
  const SamplePoint &given;
  std::array<f64, 3> position{};
  u32 layer = 0;  // a valid one; of a cube, that of the face
  u32 face = 0;
};

// The two elements along an axis between which linear filtering interpolates. The first one without it.
struct Taps {
  s64 index[2];
  u32 weight;  // of the second
};

s64 modulo(s64 value, s64 extent) { return (value % extent + extent) % extent; }

s64 addressed(s64 index, s64 extent, AddressMode mode) {
  switch (mode) {
    case AddressMode::clamp:
      return std::clamp<s64>(index, 0, extent - 1);
    case AddressMode::wrap:
      return modulo(index, extent);
    case AddressMode::mirror: {
      const s64 within = modulo(index, 2 * extent);
      return within < extent ? within : 2 * extent - 1 - within;
    }
    case AddressMode::border:
      break;
  }
  return index >= 0 && index < extent ? index : outside;
}

// How the coordinates of one fetch are treated.
struct Rules {
  std::array<AddressMode, 3> address;
  bool is_normalized, is_linear;
  bool merges_taps = false;    // of linear filters at an edge, where both elements are the same
  bool crosses_faces = false;  // indices outside of a face are kept
  unsigned offset_bits = 4;
};

Rules rules_of(const Texture &texture, const SamplePoint &point) {
  const Sampler &sampler = texture.sampler;
  Rules rules{sampler.address, (sampler.is_normalized || is_cube(point.geometry)) && !point.is_integer,
              sampler.is_linear && !point.is_integer};
  rules.merges_taps = true;
  rules.crosses_faces = rules.is_linear && is_cube(point.geometry) && sampler.is_seamless;
  for (AddressMode &mode : rules.address) {
    // Documented for cudaTextureDesc: modes that need normalized coordinates are switched to clamp.
    if (!rules.is_normalized && mode != AddressMode::border) mode = AddressMode::clamp;
  }
  return rules;
}

// Returns the lowest bits, with a sign: an H200 uses no others of an offset.
s64 low_bits(s32 offset, unsigned bits) {
  const s32 sign = 1 << (bits - 1);
  return (offset & (2 * sign - 1)) - 2 * (offset & sign);
}

f64 without_subnormal(f64 value) { return std::fabs(value) < 0x1p-126 ? 0 : value; }

// Returns a normalized coordinate times the extent. It is cut down to 21 fraction bits, in wide images to 22
// or 23: measured on an H200.
f64 scaled(f64 position, u32 extent, AddressMode mode) {
  const int bits = extent <= 0x2000 ? 21 : extent <= 0x10000 ? 22 : 23;
  position = std::ldexp(std::floor(std::ldexp(position, bits)), -bits);
  // Both modes repeat after two extents.
  if (mode == AddressMode::wrap || mode == AddressMode::mirror) position -= 2 * std::floor(position / 2);
  return position * extent;
}

Taps locate(const Located &point, unsigned axis, u32 extent, const Rules &rules) {
  const AddressMode mode = rules.address[axis];
  const s64 offset = low_bits(point.given.offset[axis], rules.offset_bits);
  if (point.given.is_integer) {
    const s64 given = s64{point.given.index[axis]} + offset;
    const s64 index = given >= 0 && given < extent ? given : nowhere;
    return {{index, index}, 0};
  }
  f64 position = without_subnormal(point.position[axis]);
  if (rules.is_normalized) position = scaled(position, extent, mode);
  constexpr f64 most = 1u << 30;
  position = position == position ? std::clamp(position, -most, most) : 0.0;
  if (!rules.is_linear) {
    const s64 index = addressed(static_cast<s64>(std::floor(position)) + offset, extent, mode);
    return {{index, index}, 0};
  }
  auto fixed = static_cast<s64>(std::floor((position - 0.5) * full_weight + 0.5)) + offset * full_weight;
  if (mode == AddressMode::clamp && rules.merges_taps && !rules.crosses_faces)
    fixed = std::clamp<s64>(fixed, 0, (s64{extent} - 1) * full_weight);
  const s64 index = fixed >> 8;
  const u32 weight = static_cast<u32>(fixed & (full_weight - 1));
  if (rules.crosses_faces) return {{index, index + 1}, weight};
  return {{addressed(index, extent, mode), addressed(index + 1, extent, mode)}, weight};
}

Texel element(const Texture &texture, const Image &image, s64 x, s64 y, s64 z) {
  if (x == nowhere || y == nowhere || z == nowhere) return {};
  if (x == outside || y == outside || z == outside)
    return border_texel(texture.format, texture.sampler.is_srgb, texture.sampler.border);
  const std::byte *const from =
      image.at(static_cast<u64>(x) * texture.format.bytes(), static_cast<u64>(y), static_cast<u64>(z));
  if (from == nullptr) return {};
  return read_texel(texture.format, texture.sampler.is_srgb, from);
}

Located in_layer(const SamplePoint &point, const Image &image) {
  Located made{point};
  if (!is_cube(point.geometry)) {
    for (unsigned axis = 0; axis < 3; ++axis) made.position[axis] = point.position[axis];
    made.layer = is_layered(point.geometry) ? std::min(point.layer, image.depth - 1) : 0;
    return made;
  }
  const FacePoint on = face_point(point.position);
  made.face = on.face;
  made.position = {on.s, on.t, 0};
  const u32 cubes = std::max(image.depth / 6, 1u);
  const u32 cube = point.geometry == Geometry::cubes ? std::min(point.layer, cubes - 1) : 0;
  made.layer = std::min(6 * cube + on.face, image.depth - 1);
  return made;
}

// Returns whether an H200 reads zeros for coordinates of this type: in a line, integers read linear memory
// and floats read arrays; a layer is not clamped for integers.
bool reads_nothing(const Texture &texture, const SamplePoint &point, const Image &image) {
  if (point.geometry == Geometry::line) return point.is_integer != texture.is_linear_memory;
  return point.is_integer && is_layered(point.geometry) && point.layer >= image.depth;
}

// The four elements of a plane between which linear filtering interpolates, x first. `missing` is the index
// of the one that the corner of a cube lacks.
struct Quad {
  std::array<Texel, 4> elements{};
  unsigned missing = 4;
};

Quad quad_of(const Texture &texture, const Image &image, const Located &point, const Rules &rules,
             const Taps &x, const Taps &y, s64 z) {
  Quad quad;
  for (unsigned i = 0; i < 4; ++i) {
    const s64 column = x.index[i & 1], row = y.index[i >> 1];
    if (!rules.crosses_faces) {
      quad.elements[i] = element(texture, image, column, row, z);
      continue;
    }
    const auto found = across_faces(point.face, column, row, image.width);
    if (found)
      quad.elements[i] = element(texture, image, found->x, found->y, z - point.face + found->face);
    else
      quad.missing = i;
  }
  return quad;
}

// Adds one level with a weight.
void add_level(Blend &blend, const Texture &texture, const SamplePoint &given, const Image &image,
               u32 weight) {
  if (reads_nothing(texture, given, image)) return;
  const Located point = in_layer(given, image);
  const Rules rules = rules_of(texture, given);
  const unsigned axes = is_cube(given.geometry) ? 2 : coordinates_of(given.geometry);
  const Taps x = locate(point, 0, image.width, rules);
  // Filters a line as a plane of one row, with a coordinate at the edge of the row.
  const Taps edge{{rules.address[1] == AddressMode::border ? outside : 0, 0}, full_weight / 2};
  const Taps y = axes > 1 ? locate(point, 1, image.height, rules) : rules.is_linear ? edge : Taps{};
  const Taps layer{{point.layer, point.layer}, 0};
  const Taps z = axes > 2 ? locate(point, 2, image.depth, rules) : layer;
  if (!rules.is_linear) {
    std::array<Texel, 4> elements{};
    elements[0] = element(texture, image, x.index[0], y.index[0], z.index[0]);
    blend.add(elements, {weight, 0, 0, 0}, 1);
    return;
  }
  const auto slices = split_down(weight, z.weight);
  const u32 read = (x.weight == 0 ? 0b0101u : 0b1111u) & (y.weight == 0 ? 0b0011u : 0b1111u);
  for (unsigned i = 0; i < (z.weight == 0 ? 1 : 2); ++i) {
    const Quad quad = quad_of(texture, image, point, rules, x, y, z.index[i]);
    blend.add(quad.elements, shares_of(slices[i], x.weight, y.weight, quad.missing),
              read & ~(quad.missing < 4 ? 1u << quad.missing : 0));
  }
}

Texel sample_level(const Texture &texture, const SamplePoint &given, const Image &image) {
  if (!rules_of(texture, given).is_linear) {
    if (reads_nothing(texture, given, image)) return {};
    const Located point = in_layer(given, image);
    const Rules rules = rules_of(texture, given);
    const unsigned axes = is_cube(given.geometry) ? 2 : coordinates_of(given.geometry);
    const Texel texel = element(texture, image, locate(point, 0, image.width, rules).index[0],
                                axes > 1 ? locate(point, 1, image.height, rules).index[0] : 0,
                                axes > 2 ? locate(point, 2, image.depth, rules).index[0] : point.layer);
    return clamped(texture.format, texel);
  }
  Blend blend(texture);
  add_level(blend, texture, given, image, full_weight);
  return blend.result();
}

// Returns a level in units of 1 / 256, cut off.
s64 fixed_level(f32 level) {
  constexpr f32 most = 1024;
  return level == level ? static_cast<s64>(std::clamp(level, -most, most) * full_weight) : 0;
}

}  // namespace

Texel sample(const Texture &texture, const SamplePoint &point, float level) {
  const Sampler &sampler = texture.sampler;
  const std::size_t last = texture.levels.size() - 1;
  if (last == 0) return sample_level(texture, point, texture.levels.front());
  constexpr f32 most_bias = 15;
  const s64 biased = fixed_level(level) + fixed_level(std::clamp(sampler.level_bias, -most_bias, most_bias));
  const s64 clamped =
      std::max(std::min(biased, fixed_level(sampler.max_level)), fixed_level(sampler.min_level));
  const s64 chosen = std::clamp<s64>(clamped, 0, static_cast<s64>(last) * full_weight);
  if (!sampler.is_linear_in_level)
    return sample_level(texture, point,
                        texture.levels[static_cast<std::size_t>((chosen + full_weight / 2) / full_weight)]);
  const auto lower = static_cast<std::size_t>(chosen / full_weight);
  const u32 weight = static_cast<u32>(chosen % full_weight);
  Blend blend(texture);
  add_level(blend, texture, point, texture.levels[lower], full_weight - weight);
  if (weight != 0) add_level(blend, texture, point, texture.levels[lower + 1], weight);
  return blend.result();
}

std::array<Texel, 4> gather(const Texture &texture, const SamplePoint &given) {
  const Image &image = texture.levels.front();
  const Located point = in_layer(given, image);
  Rules rules = rules_of(texture, given);
  rules.is_linear = true;
  rules.crosses_faces = is_cube(given.geometry) && texture.sampler.is_seamless;
  rules.merges_taps = false;
  rules.offset_bits = 6;
  const Taps x = locate(point, 0, image.width, rules), y = locate(point, 1, image.height, rules);
  Quad quad = quad_of(texture, image, point, rules, x, y, point.layer);
  if (quad.missing < 4) {  // the mean of the others
    std::array<u32, 4> none{};
    none[quad.missing] = full_weight;
    Blend blend(texture);
    blend.add(quad.elements, without_missing(none, quad.missing), 0b1111u & ~(1u << quad.missing));
    quad.elements[quad.missing] = blend.result();
  }
  for (Texel &texel : quad.elements) texel = clamped(texture.format, texel);
  return {quad.elements[2], quad.elements[3], quad.elements[1], quad.elements[0]};
}

}  // namespace cushim::ptx::execute
