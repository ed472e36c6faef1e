// SPDX-License-Identifier: Apache-2.0
#include "execute/texture_filtering.hpp"

#include <algorithm>
#include <cmath>

#include "execute/lanes_loop.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr int no_exponent = -1000;
// The sum keeps this number of bits of a partial sum below the last bit of the largest element.
constexpr int partial_guard_bits = 13;

f64 cut_off(f64 value, int exponent) {
  return std::ldexp(std::trunc(std::ldexp(value, -exponent)), exponent);
}

f64 rounded_down(f64 value, int exponent) {
  return std::ldexp(std::floor(std::ldexp(value, -exponent)), exponent);
}

// An H200 filters subnormal f32 as zeros.
f64 without_subnormal(f64 value) { return std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value; }

// Rounds to nearest, halves away from zero.
f64 rounded_away(f64 value, int mantissa_bits, int least_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int last = std::max(std::ilogb(value), least_exponent) - mantissa_bits;
  return std::ldexp(std::round(std::ldexp(value, -last)), last);
}

// Converts a sum of signed bytes, in units of 1 / 256, to 16 bits: multiplies it by about 0x7fff / 0x7f00.
s64 of_16_bits(s64 sum) { return sum + (((sum >> 4) * 257 + 1024) >> 11); }

bool is_signed(ChannelType type) {
  return type == ChannelType::s8 || type == ChannelType::s16 || type == ChannelType::s32;
}

}  // namespace

std::array<u32, 4> without_missing(std::array<u32, 4> shares, unsigned missing) {
  const u32 divided = shares[missing], third = (divided + 1) / 3;
  shares[missing] = 0;
  shares[missing ^ 1] += third;
  shares[missing ^ 2] += third;
  shares[missing ^ 3] += divided - 2 * third;
  return shares;
}

std::array<u32, 4> shares_of(u32 weight, u32 x, u32 y, unsigned missing) {
  const u32 right = (weight * x + full_weight / 2) / full_weight, left = weight - right;
  const u32 right_below = (right * y + full_weight / 2) / full_weight, left_below = split_down(left, y)[1];
  const std::array<u32, 4> shares{left - left_below, right - right_below, left_below, right_below};
  return missing < 4 ? without_missing(shares, missing) : shares;
}

// `kept_bits`: a partial sum keeps this number of bits of an element below the exponent of the largest
// element.
struct Blend::FloatFormat {
  int mantissa_bits, least_exponent, kept_bits;
  u32 nan;
};

const Blend::FloatFormat *Blend::float_format(Arithmetic kind) {
  static constexpr FloatFormat half{10, -14, 14, 0x7fffe000}, single{23, -126, 27, 0x7fffffff},
      color{10, -14, 7, 0};
  return kind == Arithmetic::f16     ? &half
         : kind == Arithmetic::f32   ? &single
         : kind == Arithmetic::color ? &color
                                     : nullptr;
}

Blend::Arithmetic Blend::arithmetic(unsigned channel) const {
  const TexelFormat &format = texture_.format;
  if (texture_.sampler.is_srgb && format.is_normalized && format.type == ChannelType::u8 && channel < 3)
    return Arithmetic::color;
  if (format.is_normalized)
    return format.type == ChannelType::s16  ? Arithmetic::signed16
           : format.type == ChannelType::s8 ? Arithmetic::signed8
                                            : Arithmetic::unsigned16;
  if (!reads_floats(format))
    return is_signed(format.type) ? Arithmetic::signed_integer : Arithmetic::unsigned_integer;
  return format.type == ChannelType::f16 ? Arithmetic::f16 : Arithmetic::f32;
}

f64 Blend::rounding_of_integers() const {
  const bool has_32_bits =
      texture_.format.type == ChannelType::s32 || texture_.format.type == ChannelType::u32;
  return has_32_bits ? 0 : 0.5;
}

void Blend::add(const std::array<Texel, 4> &elements, const std::array<u32, 4> &weights, u32 read) {
  for (unsigned channel = 0; channel < 4; ++channel) {
    Partial partial{-0.0, no_exponent};
    std::array<f64, 4> values{};
    const Arithmetic kind = arithmetic(channel);
    const FloatFormat *const format = float_format(kind);
    for (unsigned i = 0; i < 4; ++i) {
      if ((read >> i & 1) == 0) continue;
      const u32 bits = elements[i][channel];
      const f64 value = kind == Arithmetic::signed_integer     ? f64(static_cast<s32>(bits))
                        : kind == Arithmetic::unsigned_integer ? f64(bits)
                                                               : f64(bits_as<f32>(bits));
      if (weights[i] == 0 && !std::isnan(value)) continue;
      values[i] = value;
      if (kind == Arithmetic::unsigned16) values[i] = std::nearbyint(values[i] * 0xffff);
      if (kind == Arithmetic::signed16) values[i] = std::nearbyint(values[i] * 0x7fff);
      if (kind == Arithmetic::signed8) values[i] = std::nearbyint(values[i] * 0x7f);
      if (format == nullptr) continue;
      values[i] = without_subnormal(values[i]);
      if (values[i] != 0 && std::isfinite(values[i]))
        partial.exponent = std::max(
            {partial.exponent,
             kind == Arithmetic::color ? color_exponent(static_cast<f32>(values[i])) : std::ilogb(values[i]),
             format->least_exponent});
    }
    for (unsigned i = 0; i < 4; ++i) {
      if (weights[i] == 0 && values[i] == 0) continue;
      if (format != nullptr && std::isfinite(values[i]))
        values[i] = cut_off(values[i], partial.exponent - format->kept_bits);
      partial.sum += values[i] * weights[i];
    }
    partial_[channel].push_back(partial);
  }
}

Texel Blend::result() const {
  Texel texel{};
  for (unsigned channel = 0; channel < 4; ++channel) {
    const auto &partial = partial_[channel];
    if (partial.empty()) continue;
    const Arithmetic kind = arithmetic(channel);
    const FloatFormat *const format = float_format(kind);
    int largest = no_exponent;
    for (const Partial &one : partial) largest = std::max(largest, one.exponent);
    f64 sum = -0.0;
    for (const Partial &one : partial)
      sum += format != nullptr && std::isfinite(one.sum)
                 ? rounded_down(one.sum / full_weight, largest - format->mantissa_bits - partial_guard_bits)
                 : one.sum / full_weight;
    if (kind == Arithmetic::signed_integer || kind == Arithmetic::unsigned_integer) {
      texel[channel] = static_cast<u32>(static_cast<s64>(std::floor(sum + rounding_of_integers())));
      continue;
    }
    if (format != nullptr && std::isnan(sum)) {
      texel[channel] = format->nan;
      continue;
    }
    if (format != nullptr)
      sum = without_subnormal(rounded_away(sum, format->mantissa_bits, format->least_exponent));
    else if (kind == Arithmetic::unsigned16)
      sum = std::floor(sum + 0.5) / 0xffff;
    else if (kind == Arithmetic::signed16)
      sum = std::max(std::floor(sum + 0.5), -f64(0x7fff)) / 0x7fff;
    else
      sum = std::max(of_16_bits(static_cast<s64>(sum * full_weight)), -s64{0x7fff}) / f64(0x7fff);
    texel[channel] = bits_as<u32>(static_cast<f32>(sum));
  }
  return texel;
}

}  // namespace cushim::ptx::execute
