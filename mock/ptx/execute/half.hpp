// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execute/lanes_loop.hpp"

// f16 and bf16 as 16 bits. Conversions round to nearest even.
namespace cushim::ptx::execute {
namespace {

inline f32 f32_of_f16(u16 half) {
  const u32 sign = u32(half & 0x8000u) << 16;
  const u32 magnitude = half & 0x7fffu;
  const u32 normal = (magnitude << 13) + ((127 - 15) << 23);
  const u32 special = normal + ((255 - 31 - 112) << 23);
  const f32 subnormal = f32(s32(magnitude)) * 0x1p-24f;
  const u32 bits = magnitude >= 0x7c00u ? special : magnitude < 0x400u ? bits_as<u32>(subnormal) : normal;
  return bits_as<f32>(bits | sign);
}

inline u16 f16_of_f32(f32 value) {
  const u32 all = bits_as<u32>(value);
  const u32 sign = all >> 16 & 0x8000u;
  const u32 magnitude = all & 0x7fffffffu;
  // Adding 0.5 shifts the bits of a subnormal result to the bottom, rounded to nearest even.
  const u32 subnormal = bits_as<u32>(bits_as<f32>(magnitude) + 0.5f) - 0x3f000000u;
  const u32 normal = (magnitude - ((127u - 15u) << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  u32 result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7fffu : result | sign;
  return static_cast<u16>(result);
}

inline f32 f32_of_bf16(u16 half) { return bits_as<f32>(u32(half) << 16); }

inline u16 bf16_of_f32(f32 value) {
  const u32 all = bits_as<u32>(value);
  const u32 rounded = (all + 0x7fffu + (all >> 16 & 1)) >> 16;
  return static_cast<u16>((all & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}

// Computes a * b + c and sets the last bit if inexact (round to odd), so that a second rounding is correct.
inline f32 fma_to_odd(f32 a, f32 b, f32 c) {
  const f64 product = f64(a) * f64(b), addend = c;  // exact: 22 bits
  f64 sum = product + addend;
  const f64 part = sum - product;
  const f64 error = (product - (sum - part)) + (addend - part);
  u64 bits = bits_as<u64>(sum);
  if (error != 0 && error - error == 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : u64(-1);
  sum = bits_as<f64>(bits);
  const f32 near = static_cast<f32>(sum);
  u32 near_bits = bits_as<u32>(near);
  if (f64(near) != sum && (near_bits & 1) == 0 && near - near == 0)
    near_bits += (sum > f64(near)) == (sum > 0) ? 1 : u32(-1);
  return bits_as<f32>(near_bits);
}

// The NaN of f16 and bf16 with which a tensor copy fills elements outside of the tensor.
inline constexpr u16 out_of_bounds_nan = 0x7ff7;

struct F16 {
  static f32 in(u16 half) { return f32_of_f16(half); }
  static u16 out(f32 value) { return f16_of_f32(value); }
  static constexpr u16 smallest_normal = 0x0400;
};
struct BF16 {
  static f32 in(u16 half) { return f32_of_bf16(half); }
  static u16 out(f32 value) { return bf16_of_f32(value); }
  static constexpr u16 smallest_normal = 0x0080;
};

template <bool Ftz, class H>
inline u16 flush_half(u16 half) {
  return Ftz && (half & 0x7fffu) < H::smallest_normal ? half & 0x8000u : half;
}

}  // namespace
}  // namespace cushim::ptx::execute
