// SPDX-License-Identifier: Apache-2.0
#include "execute/texel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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
  const f32 scaled = f32(value) / f32(std::numeric_limits<T>::max());
  return bits_as<u32>(std::max(scaled, -1.0f));
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

// IEC 61966-2-1.
f32 linear_of_srgb(f32 value) {
  return value <= 0.04045f ? value / 12.92f : std::pow((value + 0.055f) / 1.055f, 2.4f);
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
      const u16 half = f16_of_f32(bits_as<f32>(word));
      std::memcpy(to, &half, sizeof half);
      return;
    }
    case ChannelType::u32:
    case ChannelType::s32:
    case ChannelType::f32:
      std::memcpy(to, &word, sizeof word);
  }
}

}  // namespace

bool reads_floats(const TexelFormat &format) {
  return format.is_normalized || format.type == ChannelType::f16 || format.type == ChannelType::f32;
}

Texel read_texel(const TexelFormat &format, bool is_srgb, const std::byte *from) {
  Texel texel{0, 0, 0, reads_floats(format) ? bits_as<u32>(1.0f) : 1};
  const unsigned size = bytes_of(format.type);
  for (unsigned i = 0; i < format.channels; ++i) texel[i] = channel(format, from + i * size);
  if (is_srgb && format.is_normalized && format.type == ChannelType::u8)
    for (unsigned i = 0; i < std::min<unsigned>(format.channels, 3); ++i)
      texel[i] = bits_as<u32>(linear_of_srgb(bits_as<f32>(texel[i])));
  return texel;
}

void write_texel(const TexelFormat &format, std::byte *to, const Texel &texel) {
  const unsigned size = bytes_of(format.type);
  for (unsigned i = 0; i < format.channels; ++i) put_channel(format, to + i * size, texel[i]);
}

}  // namespace cushim::ptx::execute
