// SPDX-License-Identifier: Apache-2.0
#include "execute/video.hpp"

#include <algorithm>

namespace cushim::ptx::execute {
namespace {

__extension__ typedef __int128 Wide;

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

std::int64_t applied(const Video &v, std::int64_t a, std::int64_t b, unsigned bits) {
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
      const std::uint64_t n = v.wrap ? count & 31 : std::min<std::uint64_t>(count, bits);
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

std::uint32_t scalar(const Video &v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::int64_t x = selected(a, v.kind_a, v.digits_a, v.signed_a);
  const std::int64_t y = selected(b, v.kind_b, v.digits_b, v.signed_b);
  if (v.operation == VideoOperation::multiply) {
    const bool negated = v.negated_a != v.negated_b;
    const bool is_signed = v.signed_a || v.signed_b || negated || v.negated_c;
    Wide product = static_cast<Wide>(x) * y;
    Wide addend = extended(c, 32, is_signed);
    if (v.plus_one)
      product += 1;
    else if (negated)
      product = -product;
    else if (v.negated_c)
      addend = -addend;
    Wide sum = (product + addend) >> v.shift;
    if (v.saturate) {
      const Wide low = is_signed ? -(Wide{1} << 31) : 0, high = (Wide{1} << (is_signed ? 31 : 32)) - 1;
      sum = sum < low ? low : sum > high ? high : sum;
    }
    return static_cast<std::uint32_t>(sum);
  }
  const unsigned bits = v.kind_d == 'b' ? 8 : v.kind_d == 'h' ? 16 : 32;
  std::int64_t result = applied(v, x, y, 32);
  if (v.saturate) result = clamped(result, bits, v.signed_d);
  if (v.kind_d != 0) {
    const unsigned at = bits * v.digits_d;
    const auto ones = static_cast<std::uint32_t>(((std::uint64_t{1} << bits) - 1) << at);
    return (c & ~ones) | (static_cast<std::uint32_t>(result) << at & ones);
  }
  const std::int64_t addend = extended(c, 32, v.signed_d);
  const std::int64_t low = v.saturate ? result : extended(static_cast<std::uint64_t>(result), 32, v.signed_d);
  switch (v.second) {
    case VideoSecond::none:
      break;
    case VideoSecond::add:
      return static_cast<std::uint32_t>(result) + c;
    case VideoSecond::min:
      return static_cast<std::uint32_t>(std::min(low, addend));
    case VideoSecond::max:
      return static_cast<std::uint32_t>(std::max(low, addend));
  }
  return static_cast<std::uint32_t>(result);
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
                                  extended(both >> bits * from_b, bits, v.signed_b), bits);
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
