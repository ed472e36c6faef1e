// SPDX-License-Identifier: Apache-2.0
// Products of matrices as the tensor cores of an H200 compute them. The rules are measured; see
// tests/mock/ptx/matrices.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "execute/matrix.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr unsigned most_terms = 64;  // the largest k of floating-point products
// Fraction bits of a term, below the exponent of the largest term.
constexpr int fraction_bits = 25, short_fraction_bits = 13;
constexpr int significand_scale = 23;  // a significand of 1.0 is 2^23

// A finite number: significand * 2^(exponent - 23), or a special value.
struct Term {
  std::int64_t significand = 0;
  int exponent = 0;
  bool infinite = false, nan = false;
};

struct Layout {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
};

Layout layout(Kind kind) {
  switch (kind) {
    case Kind::f16:
      return {5, 10, true};
    case Kind::bf16:
      return {8, 7, true};
    case Kind::tf32:  // the low 13 bits of the register are ignored
    case Kind::f32:
      return {8, 23, true};
    case Kind::e4m3:
      return {4, 3, false};
    case Kind::e5m2:
      return {5, 2, true};
    default:
      std::abort();
  }
}

Term term(Kind kind, std::uint64_t bits) {
  if (kind == Kind::tf32) bits &= ~std::uint64_t{0x1fff};
  const Layout l = layout(kind);
  const int top = (1 << l.exponent_bits) - 1;
  const std::int64_t mantissa = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << l.mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> l.mantissa_bits) & top;
  const bool negative = (bits >> (l.exponent_bits + l.mantissa_bits) & 1) != 0;
  Term t;
  t.significand = negative ? -1 : 1;
  if (exponent == top && (l.has_infinity || mantissa == (std::int64_t{1} << l.mantissa_bits) - 1)) {
    t.infinite = l.has_infinity && mantissa == 0;
    t.nan = !t.infinite;
    return t;
  }
  t.significand *= (exponent == 0 ? mantissa : mantissa | std::int64_t{1} << l.mantissa_bits)
                   << (significand_scale - l.mantissa_bits);
  t.exponent = std::max(exponent, 1) - (top >> 1);
  return t;
}

struct Sum {
  std::array<std::int64_t, most_terms + 1> significand;  // each 2^46 for 1.0
  std::array<int, most_terms + 1> exponent;
  unsigned count = 0;
  bool nan = false, plus_infinity = false, minus_infinity = false;

  void add(std::int64_t value, int at) {
    if (value == 0) return;
    significand[count] = value;
    exponent[count++] = at;
  }
  void add_infinity(bool negative) { (negative ? minus_infinity : plus_infinity) = true; }
  void add(const Term &t) {
    nan |= t.nan;
    if (t.infinite) add_infinity(t.significand < 0);
    if (!t.nan && !t.infinite) add(t.significand * (std::int64_t{1} << significand_scale), t.exponent);
  }
  void add_product(const Term &a, const Term &b) {
    if (a.nan || b.nan || a.infinite || b.infinite) {
      nan |= a.nan || b.nan || a.significand == 0 || b.significand == 0;
      add_infinity((a.significand < 0) != (b.significand < 0));
      return;
    }
    add(a.significand * b.significand, a.exponent + b.exponent);
  }
};

// Encodes value * 2^exponent as f32 or f16, cut off or rounded to nearest even.
std::uint32_t encode(std::int64_t value, int exponent, Kind kind, bool cut_off) {
  if (value == 0) return 0;
  const Layout l = layout(kind);
  const int bias = (1 << (l.exponent_bits - 1)) - 1;
  const auto magnitude = static_cast<std::uint64_t>(std::abs(value));
  const int top = 63 - std::countl_zero(magnitude) + exponent;
  const int shift = std::max(top, 1 - bias) - l.mantissa_bits - exponent;
  std::uint64_t kept = shift <= 0 ? magnitude << -shift : shift > 62 ? 0 : magnitude >> shift;
  if (!cut_off && shift > 0 && shift <= 62) {
    const std::uint64_t rest = magnitude & ((std::uint64_t{1} << shift) - 1),
                        half = std::uint64_t{1} << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
  }
  std::uint64_t bits = kept;
  if (top >= 1 - bias)
    bits = (static_cast<std::uint64_t>(top + bias) << l.mantissa_bits) + kept -
           (std::uint64_t{1} << l.mantissa_bits);
  const std::uint64_t infinity = ((std::uint64_t{1} << l.exponent_bits) - 1) << l.mantissa_bits;
  if (cut_off && bits == 0) return 0;
  const std::uint64_t sign = value < 0 ? std::uint64_t{1} << (l.exponent_bits + l.mantissa_bits) : 0;
  return static_cast<std::uint32_t>(std::min(bits, infinity) | sign);
}

// Every term is cut off at the same bit. A sum that is cut off once more to f32 (`is_short`: with 13 fraction
// bits), or rounded to f16, is the result.
std::uint32_t total(const Sum &sum, Kind kind, bool is_short) {
  const bool is_f16 = kind == Kind::f16;
  if (sum.nan || (sum.plus_infinity && sum.minus_infinity)) return is_f16 ? 0x7fff : 0x7fffffff;
  if (sum.plus_infinity || sum.minus_infinity) {
    const std::uint32_t sign = sum.minus_infinity ? 1 : 0;
    return is_f16 ? 0x7c00 | sign << 15 : 0x7f800000 | sign << 31;
  }
  if (sum.count == 0) return 0;
  const int kept_bits = is_short ? short_fraction_bits : fraction_bits;
  const int largest = *std::max_element(sum.exponent.begin(), sum.exponent.begin() + sum.count);
  std::int64_t all = 0;
  for (unsigned i = 0; i < sum.count; ++i) {
    const int shift = largest - sum.exponent[i] + 2 * significand_scale - kept_bits;
    const auto magnitude = static_cast<std::uint64_t>(std::abs(sum.significand[i]));
    const auto kept = static_cast<std::int64_t>(shift > 63 ? 0 : magnitude >> shift);
    all += sum.significand[i] < 0 ? -kept : kept;
  }
  const std::uint32_t result = encode(all, largest - kept_bits, kind, !is_f16);
  return is_short && !is_f16 ? result & ~((1u << (23 - short_fraction_bits)) - 1) : result;
}

// Adds two numbers of one type, rounded to nearest even.
std::uint32_t plus(Kind kind, std::uint32_t a, std::uint32_t b) {
  const double sum = value_of(kind, a) + value_of(kind, b);
  if (std::isnan(sum)) return kind == Kind::f16 ? 0x7fff : 0x7fffffff;
  return static_cast<std::uint32_t>(bits_of(kind, sum));
}

// Returns the row of b for an element of a.
std::size_t b_row(const MatrixProduct &p, const std::uint16_t *columns, unsigned row, unsigned k) {
  return columns == nullptr ? k : columns[row * p.k + k];
}

void multiply_floats(const MatrixProduct &p, const std::uint64_t *a, const std::uint64_t *b,
                     const std::uint64_t *c, std::uint64_t *d, const std::uint16_t *columns) {
  std::vector<Term> left(std::size_t{p.m} * p.k), right(std::size_t{p.k} * p.n * (columns ? 2 : 1));
  // As f16, subnormal numbers of e4m3 are normal, those of e5m2 are not.
  const auto number = [&](Kind kind, std::uint64_t bits) {
    Term t = term(kind, bits);
    while (p.through_f16 && kind == Kind::e4m3 && t.significand != 0 &&
           std::abs(t.significand) >> significand_scale == 0)
      t.significand *= 2, --t.exponent;
    return t;
  };
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = number(p.a.type.kind, a[i]);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = number(p.b.type.kind, b[i]);
  const Kind kind = p.d.type.kind;
  // Through f16, the first product takes the elements 0 and 1 of each four, the second the elements 2 and 3.
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < p.n; ++column) {
      const std::size_t at = std::size_t{row} * p.n + column;
      const auto sum_of = [&](std::uint32_t start, Kind start_kind, auto &&takes) {
        Sum sum;
        sum.add(term(start_kind, start));
        for (unsigned k = 0; k < p.k; ++k)
          if (takes(k))
            sum.add_product(left[std::size_t{row} * p.k + k],
                            right[b_row(p, columns, row, k) * p.n + column]);
        return total(sum, kind, p.is_short);
      };
      const auto start = static_cast<std::uint32_t>(c[at]);
      if (p.through_f16) {
        const std::uint32_t even = sum_of(0, kind, [](unsigned k) { return k / 2 % 2 == 0; });
        d[at] = plus(kind, sum_of(even, kind, [](unsigned k) { return k / 2 % 2 == 1; }), start);
      } else if (p.in_steps_of_four) {
        const std::uint32_t low = sum_of(start, p.c.type.kind, [](unsigned k) { return k < 4; });
        d[at] = sum_of(low, kind, [](unsigned k) { return k >= 4; });
      } else {
        d[at] = sum_of(start, p.c.type.kind, [](unsigned) { return true; });
      }
    }
}

// Products of mma.m8n8k4 on f16, for which sm_80 and later have no tensor core instruction: ptxas calls a
// function that computes them in f32. With an f32 result it sums the products in the order of k and adds c
// last; with an f16 result it adds to c the sum of each two products.
void multiply_quads(const MatrixProduct &p, const std::uint64_t *a, const std::uint64_t *b,
                    const std::uint64_t *c, std::uint64_t *d) {
  const auto half = [](std::uint64_t bits) { return static_cast<float>(value_of(Kind::f16, bits)); };
  for (unsigned quad = 0; quad < quads; ++quad, a += p.m * p.k, b += p.k * p.n)
    for (unsigned row = 0; row < p.m; ++row)
      for (unsigned column = 0; column < p.n; ++column, ++c, ++d) {
        const float start =
            p.c.type.kind == Kind::f16 ? half(*c) : std::bit_cast<float>(static_cast<std::uint32_t>(*c));
        float left[4], right[4];
        for (unsigned k = 0; k < 4; ++k) left[k] = half(a[row * 4 + k]), right[k] = half(b[k * p.n + column]);
        if (p.d.type.kind == Kind::f16) {
          const float low = std::fma(left[1], right[1], left[0] * right[0]),
                      high = std::fma(left[3], right[3], left[2] * right[2]), sum = start + low + high;
          *d = std::isnan(sum) ? 0x7fff : bits_of(Kind::f16, sum);
        } else {
          float products = 0;
          for (unsigned k = 0; k < 4; ++k) products = std::fma(left[k], right[k], products);
          const float sum = start + products;
          *d = std::isnan(sum) ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
        }
      }
}

void multiply_doubles(const MatrixProduct &p, const std::uint64_t *a, const std::uint64_t *b,
                      const std::uint64_t *c, std::uint64_t *d) {
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < p.n; ++column) {
      double sum = std::bit_cast<double>(c[row * p.n + column]);
      for (unsigned k = 0; k < p.k; ++k)
        sum = std::fma(std::bit_cast<double>(a[row * p.k + k]), std::bit_cast<double>(b[k * p.n + column]),
                       sum);
      d[row * p.n + column] = std::isnan(sum) ? 0xfff8000000000000 : std::bit_cast<std::uint64_t>(sum);
    }
}

std::int64_t integer(const MatrixType &type, std::uint64_t bits) {
  if (!type.is_signed || (bits >> (type.bits - 1) & 1) == 0) return static_cast<std::int64_t>(bits);
  return static_cast<std::int64_t>(bits | ~std::uint64_t{0} << type.bits);
}

void multiply_integers(const MatrixProduct &p, const std::uint64_t *a, const std::uint64_t *b,
                       const std::uint64_t *c, std::uint64_t *d, const std::uint16_t *columns) {
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < p.n; ++column) {
      std::int64_t sum = integer(p.c.type, c[row * p.n + column]);
      for (unsigned k = 0; k < p.k; ++k) {
        const std::int64_t left = integer(p.a.type, a[row * p.k + k]),
                           right = integer(p.b.type, b[b_row(p, columns, row, k) * p.n + column]);
        sum += p.exclusive_or ? left ^ right : left * right;
      }
      if (p.finite) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
      d[row * p.n + column] = static_cast<std::uint32_t>(sum);
    }
}

}  // namespace

void multiply(const MatrixProduct &p, const std::uint64_t *a, const std::uint64_t *b, const std::uint64_t *c,
              std::uint64_t *d, const std::uint16_t *columns) {
  if (p.in_quads)
    multiply_quads(p, a, b, c, d);
  else if (p.a.type.kind == Kind::integer)
    multiply_integers(p, a, b, c, d, columns);
  else if (p.a.type.bits == 64)
    multiply_doubles(p, a, b, c, d);
  else
    multiply_floats(p, a, b, c, d, columns);
}

}  // namespace cushim::ptx::execute
