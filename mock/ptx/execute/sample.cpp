// SPDX-License-Identifier: Apache-2.0
#include "execute/sample.hpp"

#include <algorithm>
#include <cmath>

#include "execute/lanes_loop.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr s64 outside = -1;  // the border
constexpr s64 nowhere = -2;  // zeros
constexpr u32 one = 256;     // a weight of 1
// Normalized coordinates are cut down to multiples of 1 / steps_of_one, as measured on an H200.
constexpr f64 steps_of_one = 1u << 21;

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
  unsigned offset_bits = 4;
};

Rules rules_of(const Texture &texture, const SamplePoint &point) {
  const Sampler &sampler = texture.sampler;
  Rules rules{sampler.address, (sampler.is_normalized || is_cube(point.geometry)) && !point.is_integer,
              sampler.is_linear && !point.is_integer && reads_floats(texture.format)};
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

f32 without_subnormal(f32 value) { return std::fabs(value) < 0x1p-126f ? 0.0f : value; }

Taps locate(const SamplePoint &point, unsigned axis, u32 extent, const Rules &rules) {
  const AddressMode mode = rules.address[axis];
  const s64 offset = low_bits(point.offset[axis], rules.offset_bits);
  if (point.is_integer) {
    const s64 given = s64{point.index[axis]} + offset;
    const s64 index = given >= 0 && given < extent ? given : nowhere;
    return {{index, index}, 0};
  }
  f64 position = without_subnormal(point.position[axis]);
  if (rules.is_normalized) {
    position = std::floor(position * steps_of_one) / steps_of_one;
    // Both modes repeat after two extents.
    if (mode == AddressMode::wrap || mode == AddressMode::mirror) position -= 2 * std::floor(position / 2);
    position *= extent;
  }
  constexpr f64 most = 1u << 30;
  position = position == position ? std::clamp(position, -most, most) : 0.0;
  if (rules.is_linear) position = std::floor((position - 0.5) * one + 0.5) / one;
  const f64 whole = std::floor(position);
  const s64 index = static_cast<s64>(whole) + offset;
  const u32 weight = rules.is_linear ? static_cast<u32>((position - whole) * one) : 0;
  return {{addressed(index, extent, mode), addressed(index + 1, extent, mode)}, weight};
}

Texel element(const Texture &texture, const Image &image, s64 x, s64 y, s64 z) {
  if (x == nowhere || y == nowhere || z == nowhere) return {};
  if (x == outside || y == outside || z == outside)
    return border_texel(texture.format, texture.sampler.is_srgb, texture.sampler.border);
  if (image.host == nullptr) return {};
  return read_texel(texture.format, texture.sampler.is_srgb,
                    image.host + static_cast<u64>(z) * image.slice_bytes +
                        static_cast<u64>(y) * image.row_bytes + static_cast<u64>(x) * texture.format.bytes());
}

// Rounds to nearest and away from zero, to fewer bits of the mantissa.
f64 rounded_away(f64 value, unsigned dropped) {
  if (!std::isfinite(value)) return value;
  return bits_as<f64>((bits_as<u64>(value) + (u64{1} << (dropped - 1))) >> dropped << dropped);
}

// A sum of floats with weights. Rounded as an H200 does; that of signed bytes is not known.
class Blend {
 public:
  explicit Blend(const Texture &texture)
      : dropped_(texture.format.type == ChannelType::f16 ? 42 : 29), most_(most_of(texture)) {}
  void add(const Texel &texel, f64 weight) {
    for (unsigned i = 0; i < 4; ++i) {
      const f64 value = bits_as<f32>(texel[i]);
      sums_[i] += weight * (most_ != 0 ? std::nearbyint(value * most_) : value);
    }
  }
  Texel result() const {
    Texel texel;
    for (unsigned i = 0; i < 4; ++i) {
      const f64 sum = most_ != 0 ? std::floor(sums_[i] + 0.5) / most_ : rounded_away(sums_[i], dropped_);
      texel[i] = bits_as<u32>(static_cast<f32>(sum));
    }
    return texel;
  }

 private:
  // Returns the integer for 1, 0 for sums of floats.
  static f64 most_of(const Texture &texture) {
    if (!texture.format.is_normalized || texture.sampler.is_srgb) return 0;
    const ChannelType type = texture.format.type;
    return type == ChannelType::s16 ? 0x7fff : type == ChannelType::s8 ? 0 : 0xffff;
  }

  const unsigned dropped_;
  const f64 most_;
  std::array<f64, 4> sums_{};
};

// The faces of a cube: CUDA Programming Guide, "Cubemap Textures".
u32 face_of(const std::array<f32, 3> &direction) {
  const auto [x, y, z] = direction;
  const f32 ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (ax >= ay && ax >= az) return x >= 0 ? 0 : 1;
  if (ay >= az) return y >= 0 ? 2 : 3;
  return z >= 0 ? 4 : 5;
}

// The parts of a direction along the axes of a face; the face's coordinates are s / m and t / m in [-1, 1].
struct OnFace {
  f32 s, t, m;
};
OnFace on_face(u32 face, const std::array<f32, 3> &direction) {
  const auto [x, y, z] = direction;
  switch (face) {
    case 0:
      return {-z, -y, x};
    case 1:
      return {z, -y, -x};
    case 2:
      return {x, z, y};
    case 3:
      return {x, -z, -y};
    case 4:
      return {x, -y, z};
    default:
      return {-x, -y, -z};
  }
}

// Returns the point with its layer, a valid one, and the coordinates in that layer.
SamplePoint in_layer(const SamplePoint &point, const Image &image) {
  if (!is_cube(point.geometry)) {
    SamplePoint made = point;
    made.layer = is_layered(point.geometry) ? std::min(point.layer, image.depth - 1) : 0;
    return made;
  }
  SamplePoint made = point;
  const u32 face = face_of(point.position);
  const OnFace on = on_face(face, point.position);
  made.position = {(on.s / on.m + 1) / 2, (on.t / on.m + 1) / 2, 0};
  const u32 cubes = std::max(image.depth / 6, 1u);
  const u32 cube = point.geometry == Geometry::cubes ? std::min(point.layer, cubes - 1) : 0;
  made.layer = std::min(6 * cube + face, image.depth - 1);
  return made;
}

// Returns whether an H200 reads zeros for coordinates of this type: in a line, integers read linear memory
// and floats read arrays; a layer is not clamped for integers.
bool reads_nothing(const Texture &texture, const SamplePoint &point, const Image &image) {
  if (point.geometry == Geometry::line) return point.is_integer != texture.is_linear_memory;
  return point.is_integer && is_layered(point.geometry) && point.layer >= image.depth;
}

// Returns the weights of the four elements of a plane, which an H200 rounds so that their sum is `one`.
std::array<u32, 4> shares_of(u32 x, u32 y) {
  const u32 both = (x * y + one / 2) / one;
  return {one - x - y + both, x - both, y - both, both};
}

Texel sample_level(const Texture &texture, const SamplePoint &given, const Image &image) {
  if (reads_nothing(texture, given, image)) return {};
  const SamplePoint point = in_layer(given, image);
  const Rules rules = rules_of(texture, point);
  const unsigned axes = is_cube(point.geometry) ? 2 : coordinates_of(point.geometry);
  const Taps none{{0, 0}, 0};
  const Taps x = locate(point, 0, image.width, rules);
  const Taps y = axes > 1 ? locate(point, 1, image.height, rules) : none;
  const Taps layer{{point.layer, point.layer}, 0};
  const Taps z = axes > 2 ? locate(point, 2, image.depth, rules) : layer;
  if (!rules.is_linear) return element(texture, image, x.index[0], y.index[0], z.index[0]);
  Blend blend(texture);
  const auto shares = shares_of(x.weight, y.weight);
  for (unsigned corner = 0; corner < 8; ++corner) {
    const unsigned i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
    const f64 share = f64(shares[corner & 3]) / one * f64(k == 0 ? one - z.weight : z.weight) / one;
    // An element without weight is not read: it may be an infinity.
    if (share != 0) blend.add(element(texture, image, x.index[i], y.index[j], z.index[k]), share);
  }
  return blend.result();
}

}  // namespace

float level_of_gradients(const Texture &texture, const SamplePoint &point,
                         const std::array<std::array<float, 3>, 2> &gradients) {
  const Image &image = texture.levels.front();
  const bool is_of_cube = is_cube(point.geometry);
  const std::array<u32, 3> extents{image.width, image.height, is_of_cube ? 1 : image.depth};
  const u32 face = face_of(point.position);
  const OnFace on = on_face(face, point.position);
  f64 longest = 0;
  for (std::array<f32, 3> gradient : gradients) {
    if (is_of_cube) {  // the derivatives of (s / m + 1) / 2 and (t / m + 1) / 2
      const OnFace by = on_face(face, gradient);
      const f32 divisor = 2 * on.m * on.m;
      gradient = {(by.s * on.m - on.s * by.m) / divisor, (by.t * on.m - on.t * by.m) / divisor, 0};
    }
    f64 square = 0;
    for (unsigned axis = 0; axis < coordinates_of(point.geometry); ++axis) {
      const bool is_scaled = texture.sampler.is_normalized || is_of_cube;
      const f64 step = f64(gradient[axis]) * (is_scaled ? extents[axis] : 1);
      square += step * step;
    }
    longest = std::max(longest, std::sqrt(square));
  }
  return static_cast<f32>(std::log2(longest));
}

Texel sample_base(const Texture &texture, const SamplePoint &point) {
  return sample_level(texture, point, texture.levels.front());
}

Texel sample(const Texture &texture, const SamplePoint &point, float level) {
  const Sampler &sampler = texture.sampler;
  const std::size_t last = texture.levels.size() - 1;
  if (last == 0) return sample_base(texture, point);
  f32 chosen = std::max(std::min(level + sampler.level_bias, sampler.max_level), sampler.min_level);
  chosen = chosen == chosen ? std::clamp(chosen, 0.0f, f32(last)) : 0.0f;
  if (!sampler.is_linear_in_level || !reads_floats(texture.format))
    return sample_level(texture, point, texture.levels[static_cast<std::size_t>(std::lround(chosen))]);
  const auto lower = static_cast<std::size_t>(chosen);
  const u32 weight = static_cast<u32>(std::lround((chosen - f32(lower)) * one));
  Blend blend(texture);
  if (weight != one) blend.add(sample_level(texture, point, texture.levels[lower]), f64(one - weight) / one);
  if (weight != 0)
    blend.add(sample_level(texture, point, texture.levels[std::min(lower + 1, last)]), f64(weight) / one);
  return blend.result();
}

std::array<Texel, 4> gather(const Texture &texture, const SamplePoint &given) {
  const Image &image = texture.levels.front();
  const SamplePoint point = in_layer(given, image);
  Rules rules = rules_of(texture, point);
  rules.is_linear = true;
  rules.offset_bits = 6;
  const Taps x = locate(point, 0, image.width, rules), y = locate(point, 1, image.height, rules);
  const auto at = [&](unsigned i, unsigned j) {
    return element(texture, image, x.index[i], y.index[j], point.layer);
  };
  return {at(0, 1), at(1, 1), at(1, 0), at(0, 0)};
}

}  // namespace cushim::ptx::execute
