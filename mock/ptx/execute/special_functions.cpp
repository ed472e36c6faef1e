// SPDX-License-Identifier: Apache-2.0
// Special functions as the hardware computes them: S. F. Oberman and M. Y. Siu, "A High-Performance
// Area-Efficient Multifunction Interpolator", ARITH 2005. The leading bits of the argument select a segment;
// in it the result is c0 + c1 * x + c2 * x^2 in fixed point, cut off to 24 bits, with a squarer that drops
// the low columns. The coefficients, the widths and the constants that are added are measured: they give the
// results of an H200 for every mantissa of the recorded binades (tests/mock/ptx/units).
#include "execute/special_functions.hpp"

#include <bit>
#include <cstdint>
#include <iterator>

namespace cushim::ptx::execute {
namespace {

struct Segment {
  std::int32_t c0, c1, c2;
};

#define SEGMENTS(name, count, ...) constexpr Segment name##_segments[count] = {__VA_ARGS__};
#include "execute/special_functions.inc"
#undef SEGMENTS

constexpr std::uint32_t infinity = 0x7f800000, not_a_number = 0x7fffffff, sign_bit = 0x80000000;

// Squares x of `bits` bits. Drops the columns below the 15 highest of the partial products, where the product
// of two different bits is in the column of its double.
std::int64_t square(std::uint32_t x, int bits) {
  const int dropped = 2 * bits - 15;
  const std::uint64_t columns = (std::uint64_t{1} << dropped) - 1;
  std::uint64_t lost = 0;
  // Later rows begin in columns that are kept.
  for (int i = 0; 2 * i < dropped; ++i) {
    const std::uint64_t row = std::uint64_t{1} << 2 * i | std::uint64_t{x >> (i + 1)} << (2 * i + 2);
    lost += (x >> i & 1) != 0 ? row & columns : 0;
  }
  return static_cast<std::int64_t>((std::uint64_t{x} * x - lost) >> dropped);
}

// How a function interpolates: the argument has 23 bits, `index` of which select the segment; c0 is shifted.
struct Interpolation {
  const Segment *segments;
  int index, shift;
  std::int64_t bias;
};

std::int64_t interpolate(const Interpolation &f, std::uint32_t argument) {
  const int bits = 23 - f.index;
  const Segment &s = f.segments[argument >> bits];
  const std::uint32_t x = argument & ((1u << bits) - 1);
  return (std::int64_t{s.c0} << f.shift) + f.bias + std::int64_t{s.c1} * x +
         std::int64_t{s.c2} * square(x, bits);
}

// Returns value * 2^exponent, cut off to 24 bits. Zero if the result is subnormal.
float cut_off(std::int64_t value, int exponent, std::uint32_t sign = 0) {
  if (value == 0) return std::bit_cast<float>(sign);
  const int top = 63 - std::countl_zero(static_cast<std::uint64_t>(value));
  const auto mantissa = static_cast<std::uint32_t>(top >= 23 ? value >> (top - 23) : value << (23 - top));
  const int biased = top + exponent + 127;
  if (biased <= 0) return std::bit_cast<float>(sign);
  if (biased >= 255) return std::bit_cast<float>(infinity | sign);
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(biased) << 23 | (mantissa & 0x7fffff));
}

struct Parts {
  std::uint32_t sign, mantissa;
  int exponent;  // unbiased
  bool zero, infinite, nan;
};

Parts parts(float a) {
  const auto bits = std::bit_cast<std::uint32_t>(a);
  const std::uint32_t mantissa = bits & 0x7fffff;
  const int biased = static_cast<int>(bits >> 23 & 0xff);
  return {bits & sign_bit,
          mantissa,
          biased - 127,
          biased == 0,
          biased == 255 && mantissa == 0,
          biased == 255 && mantissa != 0};
}

constexpr float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Returns the fraction of a * 2^23 as a fixed-point number, cut off towards minus infinity, and the integer
// part.
std::int64_t fixed(const Parts &a, int fraction_bits) {
  const std::int64_t magnitude = a.mantissa | 1 << 23;
  const int shift = a.exponent - 23 + fraction_bits;
  if (shift >= 0) return magnitude << shift;
  return shift < -40 ? 0 : magnitude >> -shift;
}

// Returns sin((turns + quarter / 4) * 2 pi).
float sine_of_turns(float turns, unsigned quarter) {
  constexpr Interpolation f{sine_segments, 6, 13, 0};
  constexpr int fraction_bits = 25;  // 2 for the quarter of the turn, 23 within
  const Parts a = parts(turns);
  std::uint64_t position = 0;
  if (!a.zero) position = static_cast<std::uint64_t>(a.exponent > 37 ? 0 : fixed(a, fraction_bits));
  bool negative = a.sign != 0 && quarter == 0;  // the cosine is even
  position += std::uint64_t{quarter} << 23;
  const auto within = static_cast<std::uint32_t>(position & 0x7fffff);
  const bool falls = (position >> 23 & 1) != 0;
  negative = negative != ((position >> 24 & 1) != 0);
  const std::int64_t sum = interpolate(f, falls ? ~within & 0x7fffff : within);
  return cut_off(sum, -38, negative ? sign_bit : 0);
}

// Returns a / (2 pi), cut off to f32.
float turns_of(float a) {
  const Parts p = parts(a);
  constexpr std::int64_t factor = 0xa2f983;  // 2^26 / (2 pi)
  return cut_off(factor * static_cast<std::int64_t>(p.mantissa | 1u << 23), p.exponent - 23 - 26, p.sign);
}

}  // namespace

float reciprocal(float a) {
  constexpr Interpolation f{reciprocal_segments, 7, 13, 2023};
  const Parts p = parts(a);
  if (p.nan) return from_bits(not_a_number);
  if (p.zero) return from_bits(infinity | p.sign);
  if (p.infinite) return from_bits(p.sign);
  if (p.mantissa == 0) return cut_off(1, -p.exponent, p.sign);
  return cut_off(interpolate(f, p.mantissa), -39 - p.exponent, p.sign);
}

float inverse_square_root(float a) {
  constexpr Interpolation f[2] = {{inverse_root_of_1_segments, 6, 14, 16383},
                                  {inverse_root_of_2_segments, 6, 14, 16383}};
  const Parts p = parts(a);
  if (p.nan || (p.sign != 0 && !p.zero)) return from_bits(not_a_number);
  if (p.zero) return from_bits(infinity | p.sign);
  if (p.infinite) return 0;
  const int odd = p.exponent & 1, half = (p.exponent - odd) / 2;
  if (p.mantissa == 0 && odd == 0) return cut_off(1, -half);
  return cut_off(interpolate(f[odd], p.mantissa), -40 - half);
}

float square_root(float a) {
  constexpr Interpolation f[2] = {{root_of_1_segments, 6, 15, 32767}, {root_of_2_segments, 6, 15, 32767}};
  const Parts p = parts(a);
  if (p.zero) return from_bits(p.sign);
  if (p.nan || p.sign != 0) return from_bits(not_a_number);
  if (p.infinite) return a;
  const int odd = p.exponent & 1, half = (p.exponent - odd) / 2;
  if (p.mantissa == 0 && odd == 0) return cut_off(1, half);
  return cut_off(interpolate(f[odd], p.mantissa), half - 40);
}

float exponential(float a) {
  constexpr Interpolation f{exponential_segments, 6, 13, 6114};
  const Parts p = parts(a);
  if (p.nan) return from_bits(not_a_number);
  if (p.infinite || p.exponent > 7) return p.sign != 0 ? 0 : from_bits(infinity);
  std::int64_t x = p.zero ? 0 : fixed(p, 23);
  if (p.sign != 0) x = (x & 0x7fffff) == 0 ? -x : ~x;
  return cut_off(interpolate(f, static_cast<std::uint32_t>(x & 0x7fffff)), static_cast<int>(x >> 23) - 38);
}

float logarithm(float a) {
  constexpr Interpolation f{logarithm_segments, 6, 12, 837};
  constexpr int fraction_bits = 38, dropped = 2;
  const Parts p = parts(a);
  if (p.nan || (p.sign != 0 && !p.zero)) return from_bits(not_a_number);
  if (p.zero) return from_bits(infinity | sign_bit);
  if (p.infinite) return a;
  if (p.mantissa == 0 && p.exponent == 0) return 0;
  std::int64_t sum = interpolate(f, p.mantissa) >> dropped;
  sum += std::int64_t{p.exponent} << (fraction_bits - dropped);
  return cut_off(sum < 0 ? ~sum : sum, dropped - fraction_bits, sum < 0 ? sign_bit : 0);
}

float sine(float a) {
  const Parts p = parts(a);
  if (p.nan || p.infinite) return from_bits(not_a_number);
  return p.zero ? from_bits(p.sign) : sine_of_turns(turns_of(a), 0);
}

float cosine(float a) {
  const Parts p = parts(a);
  if (p.nan || p.infinite) return from_bits(not_a_number);
  return p.zero ? 1 : sine_of_turns(turns_of(a), 1);
}

float hyperbolic_tangent(float a) {
  struct Binade {
    int index;            // bits of the mantissa that select the segment
    std::uint32_t first;  // segment
  };
  constexpr Binade binades[] = {{0, 0},  {0, 1},  {0, 2},  {1, 3},  {1, 5}, {2, 7},
                                {2, 11}, {2, 15}, {3, 19}, {4, 27}, {3, 43}};
  constexpr int least_exponent = -8, bits = 17, fraction_bits = 19;
  constexpr Interpolation f{hyperbolic_tangent_segments, 23 - bits, bits, 0};
  const Parts p = parts(a);
  if (p.nan) return from_bits(not_a_number);
  if (p.exponent < least_exponent) return a;
  const auto binade = static_cast<std::size_t>(p.exponent - least_exponent);
  if (binade >= std::size(binades)) return from_bits(std::bit_cast<std::uint32_t>(1.0F) | p.sign);
  const auto [index, first] = binades[binade];
  const std::uint32_t position = (first << bits) + (p.mantissa >> (23 - bits - index));
  return cut_off(interpolate(f, position), p.exponent - 23 - fraction_bits, p.sign);
}

}  // namespace cushim::ptx::execute
