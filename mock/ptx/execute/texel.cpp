// SPDX-License-Identifier: Apache-2.0
#include "execute/texel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

#include "execute/half.hpp"

namespace cushim::ptx::execute {
namespace {

template <class T>
T value_at(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
u32 integer(const std::byte *from, bool is_normalized) {
  const T value = value_at<T>(from);
  if (!is_normalized) return static_cast<u32>(value);
  return bits_as<u32>(f32(value) / f32(std::numeric_limits<T>::max()));
}

u32 channel(const TexelFormat &format, const std::byte *from) {
  switch (format.type) {
    case ChannelType::u8:
      return integer<u8>(from, format.is_normalized);
    case ChannelType::s8:
      return integer<s8>(from, format.is_normalized);
    case ChannelType::u16:
      return integer<u16>(from, format.is_normalized);
    case ChannelType::s16:
      return integer<s16>(from, format.is_normalized);
    case ChannelType::f16:
      return bits_as<u32>(f32_of_f16(value_at<u16>(from)));
    case ChannelType::u32:
    case ChannelType::s32:
    case ChannelType::f32:
      break;
  }
  return value_at<u32>(from);
}

// The linear values of the 256 bytes of sRGB, as an H200 returns them: the upper halves of floats.
constexpr u16 linear_of_srgb[] = {
#include "srgb.inc"
};
static_assert(std::size(linear_of_srgb) == 256);

// IEC 61966-2-1.
f32 srgb_of_linear(f32 value) {
  return value <= 0.0031308f ? value * 12.92f : 1.055f * std::pow(value, 1 / 2.4f) - 0.055f;
}

// The last of several channels is linear, like alpha.
bool is_srgb_channel(const TexelFormat &format, bool is_srgb, unsigned channel) {
  return is_srgb && format.is_normalized && format.type == ChannelType::u8 &&
         (channel == 0 || channel + 1 < format.channels);
}

// Rounds toward zero. Keeps infinities and the upper bits of a NaN.
u16 f16_toward_zero(f32 value) {
  const u32 all = bits_as<u32>(value), magnitude = all & 0x7fffffffu;
  u32 half = (magnitude >> 13) - ((127 - 15) << 10);
  if (magnitude < 0x38800000u) half = static_cast<u32>(std::fabs(value) * 0x1p24f);
  if (magnitude >= 0x47800000u) half = 0x7bffu;
  if (magnitude >= 0x7f800000u) half = 0x7c00u | (magnitude >> 13 & 0x3ffu);
  return static_cast<u16>((all >> 16 & 0x8000u) | half);
}

template <class T>
void put_integer(std::byte *to, u32 word, bool is_normalized) {
  constexpr s64 least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  T value;
  if (is_normalized) {
    const f32 given = bits_as<f32>(word);
    const f32 clamped = std::clamp(given == given ? given : 0.0f, least < 0 ? -1.0f : 0.0f, 1.0f);
    value = static_cast<T>(std::nearbyint(clamped * f32(most)));
  } else {
    value = static_cast<T>(std::clamp(least < 0 ? s64{bits_as<s32>(word)} : s64{word}, least, most));
  }
  std::memcpy(to, &value, sizeof value);
}

void put_channel(const TexelFormat &format, std::byte *to, u32 word) {
  switch (format.type) {
    case ChannelType::u8:
      return put_integer<u8>(to, word, format.is_normalized);
    case ChannelType::s8:
      return put_integer<s8>(to, word, format.is_normalized);
    case ChannelType::u16:
      return put_integer<u16>(to, word, format.is_normalized);
    case ChannelType::s16:
      return put_integer<s16>(to, word, format.is_normalized);
    case ChannelType::f16: {
      const u16 half = f16_toward_zero(bits_as<f32>(word));
      std::memcpy(to, &half, sizeof half);
      return;
    }
    case ChannelType::u32:
    case ChannelType::s32:
    case ChannelType::f32:
      std::memcpy(to, &word, sizeof word);
  }
}

// Returns the channel of a border as an element stores it: integers lose upper bits, floats are rounded to
// the nearest, halves down. Measured on an H200.
template <class T>
T border_integer(u32 word, bool is_normalized) {
  if (!is_normalized) return static_cast<T>(word);
  const f32 given = bits_as<f32>(word);
  const f32 clamped = std::clamp(given == given ? given : 0.0f, std::is_signed_v<T> ? -1.0f : 0.0f, 1.0f);
  return static_cast<T>(std::ceil(clamped * f32(std::numeric_limits<T>::max()) - 0.5f));
}

template <class T>
void put(std::byte *to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void put_border(const TexelFormat &format, std::byte *to, u32 word) {
  switch (format.type) {
    case ChannelType::u8:
      return put(to, border_integer<u8>(word, format.is_normalized));
    case ChannelType::s8:
      return put(to, border_integer<s8>(word, format.is_normalized));
    case ChannelType::u16:
      return put(to, border_integer<u16>(word, format.is_normalized));
    case ChannelType::s16:
      return put(to, border_integer<s16>(word, format.is_normalized));
    default:
      return put_channel(format, to, word);
  }
}

}  // namespace

bool reads_floats(const TexelFormat &format) {
  return format.is_normalized || format.type == ChannelType::f16 || format.type == ChannelType::f32;
}

Texel read_texel(const TexelFormat &format, bool is_srgb, const std::byte *from) {
  Texel texel{};
  const unsigned size = bytes_of(format.type);
  for (unsigned i = 0; i < format.channels; ++i)
    texel[i] = is_srgb_channel(format, is_srgb, i) ? u32{linear_of_srgb[value_at<u8>(from + i)]} << 16
                                                   : channel(format, from + i * size);
  return texel;
}

Texel clamped(const TexelFormat &format, Texel texel) {
  if (format.is_normalized && (format.type == ChannelType::s8 || format.type == ChannelType::s16))
    for (u32 &word : texel) word = bits_as<u32>(std::max(bits_as<f32>(word), -1.0f));
  return texel;
}

int color_exponent(float color) {
  const u16 *const found = std::lower_bound(std::begin(linear_of_srgb), std::end(linear_of_srgb) - 1,
                                            static_cast<u16>(bits_as<u32>(color) >> 16));
  const std::size_t last = static_cast<std::size_t>(found - std::begin(linear_of_srgb)) | 7;
  return std::ilogb(bits_as<f32>(u32{linear_of_srgb[last]} << 16));
}

Texel border_texel(const TexelFormat &format, bool is_srgb, const Texel &border) {
  std::array<std::byte, sizeof(Texel)> stored{};
  const unsigned size = bytes_of(format.type);
  for (unsigned i = 0; i < format.channels; ++i) {
    std::byte *const to = stored.data() + i * size;
    if (is_srgb_channel(format, is_srgb, i))
      put(to, static_cast<u8>(
                  std::lround(srgb_of_linear(std::clamp(bits_as<f32>(border[i]), 0.0f, 1.0f)) * 255)));
    else
      put_border(format, to, border[i]);
  }
  return read_texel(format, is_srgb, stored.data());
}

void write_texel(const TexelFormat &format, std::byte *to, const Texel &texel) {
  const unsigned size = bytes_of(format.type);
  for (unsigned i = 0; i < format.channels; ++i) put_channel(format, to + i * size, texel[i]);
}

}  // namespace cushim::ptx::execute
