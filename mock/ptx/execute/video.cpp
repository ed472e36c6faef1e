// SPDX-License-Identifier: Apache-2.0
#include "execute/video.hpp"

#include <algorithm>

namespace cushim::ptx::execute {
namespace {

std::int64_t extended(std::uint64_t value, unsigned bits, bool is_signed) {
  value &= (std::uint64_t{1} << bits) - 1;
  if (is_signed && (value >> (bits - 1) & 1) != 0) value |= ~std::uint64_t{0} << bits;
  return static_cast<std::int64_t>(value);
}

std::int64_t clamped(std::int64_t value, unsigned bits, bool is_signed) {
  const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t high = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(value, low, high);
}

std::int64_t applied(const Video &v, std::int64_t a, std::int64_t b) {
  switch (v.operation) {
    case VideoOperation::add:
      return a + b;
    case VideoOperation::subtract:
      return a - b;
    case VideoOperation::difference:
      return a > b ? a - b : b - a;
    case VideoOperation::min:
      return std::min(a, b);
    case VideoOperation::max:
      return std::max(a, b);
    case VideoOperation::average:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VideoOperation::left:
    case VideoOperation::right: {
      const auto count = static_cast<std::uint64_t>(b) & 0xffffffff;
      const std::uint64_t n = v.wrap ? count & 31 : std::min<std::uint64_t>(count, 32);
      return v.operation == VideoOperation::left
                 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << n)
                 : a >> n;
    }
    case VideoOperation::set: {
      const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
      return results[v.comparison] ? 1 : 0;
    }
    case VideoOperation::multiply:
      break;
  }
  return 0;
}

std::int64_t selected(std::uint32_t value, std::uint8_t kind, std::uint32_t digit, bool is_signed) {
  if (kind == 0) return extended(value, 32, is_signed);
  const unsigned bits = kind == 'b' ? 8 : 16;
  return extended(value >> (bits * digit), bits, is_signed);
}

// Computes vmad. Measured: the product is that of two signed numbers of 32 bits, the addend is signed, and
// the shift is logical if neither factor is signed or negated.
std::uint32_t multiply_add(const Video &v, std::int64_t a, std::int64_t b, std::uint32_t c) {
  const bool negated = v.negated_a != v.negated_b;
  const bool is_signed = v.signed_a || v.signed_b || negated || v.negated_c;
  const std::int64_t product =
      extended(static_cast<std::uint64_t>(a), 32, true) * extended(static_cast<std::uint64_t>(b), 32, true);
  const std::int64_t addend = extended(c, 32, true);
  const std::int64_t sum =
      (negated ? -product : product) + (v.negated_c ? -addend : addend) + (v.plus_one ? 1 : 0);
  const std::int64_t shifted =
      is_signed ? sum >> v.shift : static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) >> v.shift);
  return static_cast<std::uint32_t>(v.saturate ? clamped(shifted, 32, is_signed) : shifted);
}

// Saturates the exact result of a scalar instruction. Measured: only signed results of 32 bits and shifts
// are clamped at both ends.
std::int64_t saturated(const Video &v, std::int64_t result, unsigned bits) {
  if (v.operation == VideoOperation::left || v.operation == VideoOperation::right)
    return clamped(extended(static_cast<std::uint64_t>(result), 34, true), 32, v.signed_d);
  if (bits < 32) {
    const std::uint64_t most = (std::uint64_t{1} << (bits - (v.signed_d ? 1 : 0))) - 1;
    return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(result), most));
  }
  return v.signed_d ? clamped(result, 32, true) : std::max<std::int64_t>(result, 0);
}

std::uint32_t scalar(const Video &v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::int64_t x = selected(a, v.kind_a, v.digits_a, v.signed_a);
  const std::int64_t y = selected(b, v.kind_b, v.digits_b, v.signed_b);
  if (v.operation == VideoOperation::multiply) return multiply_add(v, x, y, c);
  const unsigned bits = v.kind_d == 'b' ? 8 : v.kind_d == 'h' ? 16 : 32;
  std::int64_t exact = applied(v, x, y);
  if (v.saturate) exact = saturated(v, exact, bits);
  const auto result = static_cast<std::uint32_t>(exact);
  // Measured: .h1 takes the upper half of the result.
  if (v.kind_d == 'h')
    return v.digits_d == 0 ? (c & ~0xffffu) | (result & 0xffff) : (c & 0xffff) | (result & ~0xffffu);
  if (v.kind_d == 'b') return (c & ~(0xffu << 8 * v.digits_d)) | (result & 0xff) << 8 * v.digits_d;
  if (v.second == VideoSecond::none) return result;
  if (v.second == VideoSecond::add) return result + c;
  // Measured: the second operation compares numbers of 64 bits. Sums and saturated shifts count as signed
  // numbers of 32 bits, other results are exact.
  const bool shifts = v.operation == VideoOperation::left || v.operation == VideoOperation::right;
  const bool sums = v.operation == VideoOperation::add || v.operation == VideoOperation::subtract;
  if (sums || (shifts && v.saturate)) exact = extended(result, 32, true);
  const std::int64_t other = extended(c, 32, v.signed_d);
  const bool less =
      v.signed_d ? exact < other : static_cast<std::uint64_t>(exact) < static_cast<std::uint64_t>(other);
  return less == (v.second == VideoSecond::min) ? result : c;
}

// Computes two half words or four bytes at once. Selectors choose among the parts of a, then those of b.
std::uint32_t parallel(const Video &v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const unsigned bits = v.parts == 2 ? 16 : 8;
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t merged = c, sum = c;
  for (unsigned i = 0; i < v.parts; ++i) {
    const unsigned from_a = v.kind_a != 0 ? v.digits_a >> 4 * i & 7 : i;
    const unsigned from_b = v.kind_b != 0 ? v.digits_b >> 4 * i & 7 : i + v.parts;
    bool chosen = v.kind_d == 0;
    for (unsigned k = 0; k < v.count_d; ++k) chosen |= (v.digits_d >> 4 * k & 7) == i;
    if (!chosen) continue;
    std::int64_t result = applied(v, extended(both >> bits * from_a, bits, v.signed_a),
                                  extended(both >> bits * from_b, bits, v.signed_b));
    if (v.saturate) result = clamped(result, bits, v.signed_d);
    const std::uint32_t ones = ((1u << bits) - 1) << bits * i;
    merged = (merged & ~ones) | (static_cast<std::uint32_t>(result) << bits * i & ones);
    sum += static_cast<std::uint32_t>(result);
  }
  return v.second == VideoSecond::add ? sum : merged;
}

}  // namespace

const Op *video(Warp &w, const Op *op) {
  const auto &v = *static_cast<const Video *>(op->data);
  const auto at = [&w](std::uint32_t offset) { return reinterpret_cast<std::uint32_t *>(w.frame + offset); };
  for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    at(op->d)[i] = v.parts == 1 ? scalar(v, at(op->a)[i], at(op->b)[i], at(op->c)[i])
                                : parallel(v, at(op->a)[i], at(op->b)[i], at(op->c)[i]);
  }
  return op + 1;
}

}  // namespace cushim::ptx::execute
