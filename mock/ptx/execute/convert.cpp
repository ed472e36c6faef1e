// SPDX-License-Identifier: Apache-2.0
#include "execute/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

namespace cushim::ptx::execute {
namespace {

struct Format {
  unsigned exponent_bits, mantissa_bits;
  int bias;
  std::uint64_t infinity;  // the bits; for a format without infinity, the first value that is not finite
  std::uint64_t nan;
  bool has_infinity;
};

Format format(Kind kind) {
  switch (kind) {
    case Kind::f64:
      return {11, 52, 1023, 0x7ff0000000000000, 0xfff8000000000000, true};
    case Kind::f32:
      return {8, 23, 127, 0x7f800000, 0x7fffffff, true};
    case Kind::tf32:
      return {8, 10, 127, 0x3fc00, 0x3ffff, true};
    case Kind::f16:
      return {5, 10, 15, 0x7c00, 0x7fff, true};
    case Kind::bf16:
      return {8, 7, 127, 0x7f80, 0x7fff, true};
    case Kind::e5m2:
      return {5, 2, 15, 0x7c, 0x7f, true};
    case Kind::e4m3:
      return {4, 3, 7, 0x7f, 0x7f, false};
    case Kind::e3m2:
      return {3, 2, 3, 0x20, 0x1f, false};
    case Kind::e2m3:
      return {2, 3, 1, 0x20, 0x1f, false};
    case Kind::e2m1:
      return {2, 1, 1, 0x8, 0x7, false};
    case Kind::ue8m0:
      return {8, 0, 127, 0xff, 0xff, false};
    case Kind::integer:
      break;
  }
  std::abort();
}

unsigned width(const Format &f) { return f.exponent_bits + f.mantissa_bits; }

// Encodes (-1)^sign * magnitude * 2^exponent, rounded.
std::uint64_t encode(const Format &f, bool sign, std::uint64_t magnitude, int exponent, Rounding rounding,
                     bool finite) {
  const std::uint64_t sign_bit = sign ? std::uint64_t{1} << width(f) : 0;
  if (magnitude == 0) return sign_bit;
  const int top = 63 - std::countl_zero(magnitude) + exponent;
  const int least = 1 - f.bias, mantissa = static_cast<int>(f.mantissa_bits);
  const int quantum = std::max(top, least) - mantissa;
  const int shift = quantum - exponent;
  std::uint64_t kept = 0, rest = 0, half = 1;
  if (shift <= 0) {
    kept = magnitude << -shift;
  } else if (shift < 64) {
    kept = magnitude >> shift;
    rest = magnitude & ((std::uint64_t{1} << shift) - 1);
    half = std::uint64_t{1} << (shift - 1);
  } else {
    rest = shift == 64 ? magnitude : 1;
    half = shift == 64 ? std::uint64_t{1} << 63 : 2;
  }
  bool up = false;
  switch (rounding) {
    case Rounding::nearest:
      up = rest > half || (rest == half && (kept & 1) != 0);
      break;
    case Rounding::away:
      up = rest >= half && rest != 0;
      break;
    case Rounding::zero:
      break;
    case Rounding::down:
      up = sign && rest != 0;
      break;
    case Rounding::up:
      up = !sign && rest != 0;
      break;
  }
  kept += up ? 1 : 0;
  std::uint64_t bits = kept;
  if (top >= least)
    bits = (static_cast<std::uint64_t>(top + f.bias) << f.mantissa_bits) +
           (kept - (std::uint64_t{1} << mantissa));
  if (bits >= f.infinity) {
    const bool to_largest = finite || !f.has_infinity || rounding == Rounding::zero ||
                            (rounding == Rounding::down && !sign) || (rounding == Rounding::up && sign);
    bits = to_largest ? f.infinity - 1 : f.infinity;
  }
  return bits | sign_bit;
}

struct Number {
  bool sign = false, nan = false, infinite = false;
  std::uint64_t magnitude = 0;
  int exponent = 0;
};

Number decode(const Format &f, std::uint64_t bits) {
  Number n;
  n.sign = (bits >> width(f) & 1) != 0;
  const std::uint64_t rest = bits & ((std::uint64_t{1} << width(f)) - 1);
  const std::uint64_t mantissa = rest & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(rest >> f.mantissa_bits);
  if (rest >= f.infinity) {
    n.infinite = f.has_infinity && rest == f.infinity;
    n.nan = !n.infinite;
    return n;
  }
  if (f.mantissa_bits == 0) {  // ue8m0 has no zero
    n.magnitude = 1;
    n.exponent = exponent - f.bias;
    return n;
  }
  n.magnitude = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << f.mantissa_bits;
  n.exponent = std::max(exponent, 1) - f.bias - static_cast<int>(f.mantissa_bits);
  return n;
}

// Rounds to an integer. Returns false if the result does not fit in 64 bits.
bool round_to_integer(Number &n, Rounding rounding) {
  if (n.magnitude == 0) {
    n.exponent = 0;
    return true;
  }
  if (n.exponent >= 0) {
    if (n.exponent > std::countl_zero(n.magnitude)) return false;
    n.magnitude <<= n.exponent;
    n.exponent = 0;
    return true;
  }
  const int shift = -n.exponent;
  std::uint64_t kept = 0, rest = n.magnitude, half = 0;
  if (shift < 64) {
    kept = n.magnitude >> shift;
    rest = n.magnitude & ((std::uint64_t{1} << shift) - 1);
    half = std::uint64_t{1} << (shift - 1);
  } else {
    half = shift == 64 ? std::uint64_t{1} << 63 : ~std::uint64_t{0};
  }
  const bool up = rounding == Rounding::nearest ? rest > half || (rest == half && (kept & 1) != 0)
                  : rounding == Rounding::down  ? n.sign && rest != 0
                  : rounding == Rounding::up    ? !n.sign && rest != 0
                                                : false;
  n.magnitude = kept + (up ? 1 : 0);
  n.exponent = 0;
  return true;
}

std::uint64_t extended(std::uint64_t bits, unsigned size, bool is_signed) {
  if (size >= 64) return bits;
  bits &= (std::uint64_t{1} << size) - 1;
  if (is_signed && (bits >> (size - 1) & 1) != 0) bits |= ~std::uint64_t{0} << size;
  return bits;
}

std::uint64_t clamp(const Number &n, bool overflow, unsigned size, bool is_signed) {
  const std::uint64_t largest = is_signed    ? (std::uint64_t{1} << (size - 1)) - 1
                                : size == 64 ? ~std::uint64_t{0}
                                             : (std::uint64_t{1} << size) - 1;
  if (n.sign) {
    if (!is_signed) return 0;
    if (overflow || n.magnitude > largest + 1) return 0 - (largest + 1);
    return 0 - n.magnitude;
  }
  return overflow || n.magnitude > largest ? largest : n.magnitude;
}

// Encodes a magnitude as ue8m0: the exponent alone.
std::uint64_t encode_scale(const Number &n, Rounding rounding, bool finite) {
  if (n.nan) return 0xff;
  const std::uint64_t overflow = finite ? 0xfe : 0xff;
  if (n.infinite) return overflow;
  if (n.magnitude == 0) return 0;
  const int top = 63 - std::countl_zero(n.magnitude);
  const bool up = rounding == Rounding::up && n.magnitude != std::uint64_t{1} << top;
  const int code = top + n.exponent + (up ? 1 : 0) + 127;
  return code < 0 ? 0 : code > 0xfe ? overflow : static_cast<std::uint64_t>(code);
}

Number number_of(const Conversion &c, std::uint64_t bits) {
  if (c.from != Kind::integer) return decode(format(c.from), bits);
  Number n;
  const std::uint64_t value = extended(bits, c.from_bits, c.from_signed);
  n.sign = c.from_signed && static_cast<std::int64_t>(value) < 0;
  n.magnitude = n.sign ? 0 - value : value;
  return n;
}

// Rounds f32 to tf32 with ties away from zero. Measured: an infinity or NaN is only cut off, and .satfinite
// takes the value before the result if that is an infinity or NaN.
std::uint64_t round_away_to_tf32(std::uint64_t bits, bool finite) {
  constexpr std::uint64_t special = 0x7f800000, step = 0x2000;
  if ((bits & special) != special) bits += step / 2;
  bits &= ~(step - 1);
  return finite && (bits & special) == special ? bits - step : bits;
}

}  // namespace

std::uint64_t convert(const Conversion &c, std::uint64_t bits) {
  if (c.to == Kind::tf32 && c.rounding == Rounding::away) return round_away_to_tf32(bits, c.finite);
  Number n = number_of(c, bits);
  const bool narrow = c.to == Kind::f16;  // measured: does not flush subnormal sources
  if (c.flush && !narrow && c.from == Kind::f32 && (bits & 0x7f800000u) == 0) n.magnitude = 0;
  if (c.to == Kind::integer) {
    if (c.from == Kind::integer) {
      if (!c.saturate)
        return extended(bits, std::min(c.to_bits, c.from_bits),
                        c.to_bits > c.from_bits ? c.from_signed : c.to_signed);
      return clamp(n, false, c.to_bits, c.to_signed);
    }
    if (n.nan) {
      // Measured: 0 only if both the source and the destination are narrower than 64 bits.
      if (c.from != Kind::f64 && c.to_bits != 64) return 0;
      return extended(std::uint64_t{1} << (c.to_bits - 1), c.to_bits, c.to_signed);
    }
    const bool overflow = n.infinite || !round_to_integer(n, c.rounding);
    return clamp(n, overflow, c.to_bits, c.to_signed);
  }
  if (c.to == Kind::ue8m0) return encode_scale(n, c.rounding, c.finite);
  const Format to = format(c.to);
  if (n.nan && c.from == Kind::f64 && !c.saturate) {
    // The result keeps the sign and the leading bits of the NaN.
    const std::uint64_t quiet = bits | std::uint64_t{1} << 51;
    const std::uint64_t sign = bits >> 63 << width(to);
    return sign | to.infinity | ((quiet & ((std::uint64_t{1} << 52) - 1)) >> (52 - to.mantissa_bits));
  }
  if (n.nan && c.to == Kind::f64 && !c.saturate) {
    // The result keeps the sign and the bits of the NaN, unless the source was flushed before.
    if (c.flush) return 0x7fffffffe0000000;
    const Format from = format(c.from);
    const std::uint64_t payload = bits & ((std::uint64_t{1} << from.mantissa_bits) - 1);
    return (bits >> width(from) & 1) << 63 | 0x7ff8000000000000 | payload << (52 - from.mantissa_bits);
  }
  if (n.nan) return c.saturate ? 0 : c.to == Kind::tf32 ? 0x7fffe000u : to.nan;
  if (c.to_integral && !n.infinite) {
    Number rounded = n;
    if (round_to_integer(rounded, c.rounding)) n = rounded;
  }
  if (c.saturate) {
    if (n.sign)
      n = {};
    else if (n.infinite || (n.magnitude != 0 && 63 - std::countl_zero(n.magnitude) + n.exponent >= 0))
      n = {false, false, false, 1, 0};
  }
  if (c.relu && n.sign) n = {};
  std::uint64_t result;
  if (n.infinite)
    result = (c.finite || !to.has_infinity ? to.infinity - 1 : to.infinity) |
             (n.sign ? std::uint64_t{1} << width(to) : 0);
  else
    result = encode(to, n.sign, n.magnitude, n.exponent, c.rounding, c.finite);
  if (c.to == Kind::tf32) return result << 13;
  if (c.flush && c.to == Kind::f32 && (result & 0x7f800000u) == 0) result &= 0x80000000u;
  return result;
}

double value_of(Kind kind, std::uint64_t bits) {
  Conversion c;
  c.from = kind;
  c.to = Kind::f64;
  return std::bit_cast<double>(convert(c, bits));
}

std::uint64_t bits_of(Kind kind, double value, Rounding rounding) {
  Conversion c;
  c.from = Kind::f64;
  c.to = kind;
  c.rounding = rounding;
  return convert(c, std::bit_cast<std::uint64_t>(value));
}

std::optional<Conversion> describe_conversion(const std::vector<std::string_view> &modifiers,
                                              std::string_view to, std::string_view from) {
  Conversion c;
  const auto side = [](std::string_view type, Kind &kind, bool &is_signed, std::uint8_t &size,
                       std::uint8_t &bytes) {
    const struct {
      std::string_view name;
      Kind kind;
      std::uint8_t bytes;
    } floats[] = {{"f64", Kind::f64, 8},
                  {"f32", Kind::f32, 4},
                  {"tf32", Kind::tf32, 4},
                  {"f16", Kind::f16, 2},
                  {"bf16", Kind::bf16, 2}};
    for (const auto &one : floats)
      if (one.name == type) {
        kind = one.kind;
        bytes = one.bytes;
        return true;
      }
    if (type.size() < 2 || (type[0] != 'u' && type[0] != 's')) return false;
    is_signed = type[0] == 's';
    const std::string_view digits = type.substr(1);
    if (digits != "8" && digits != "16" && digits != "32" && digits != "64") return false;
    size = static_cast<std::uint8_t>(std::atoi(std::string{digits}.c_str()));
    bytes = static_cast<std::uint8_t>(std::max(2, size / 8));
    return true;
  };
  struct Packed {
    std::string_view name;
    Kind kind;
    std::uint8_t part, bytes;
  };
  static constexpr Packed packed[] = {{"f16x2", Kind::f16, 16, 4},    {"bf16x2", Kind::bf16, 16, 4},
                                      {"e4m3x2", Kind::e4m3, 8, 2},   {"e5m2x2", Kind::e5m2, 8, 2},
                                      {"e3m2x2", Kind::e3m2, 8, 2},   {"e2m3x2", Kind::e2m3, 8, 2},
                                      {"ue8m0x2", Kind::ue8m0, 8, 2}, {"e2m1x2", Kind::e2m1, 4, 2}};
  const auto is = [](std::string_view name) {
    return [name](const Packed &one) { return one.name == name; };
  };
  const auto *const end = std::end(packed);
  const auto *const to_packed = std::find_if(std::begin(packed), end, is(to));
  const auto *const from_packed = std::find_if(std::begin(packed), end, is(from));
  if (to_packed != end) {
    c.pair = from == "f32";
    c.packed = from_packed != end;
    if (!c.pair && !c.packed) return {};
    c.to = to_packed->kind;
    c.to_part = to_packed->part;
    c.to_bytes = to_packed->bytes;
  } else if (!side(to, c.to, c.to_signed, c.to_bits, c.to_bytes)) {
    return {};
  }
  if (c.packed) {
    c.from = from_packed->kind;
    c.from_part = from_packed->part;
    c.from_bytes = from_packed->bytes;
  } else if (!side(from, c.from, c.from_signed, c.from_bits, c.from_bytes)) {
    return {};
  }
  c.plain = true;
  static constexpr std::pair<std::string_view, bool Conversion::*> flags[] = {
      {"sat", &Conversion::saturate},
      {"ftz", &Conversion::flush},
      {"relu", &Conversion::relu},
      {"satfinite", &Conversion::finite}};
  for (const std::string_view one : modifiers) {
    if (one == "rn") continue;
    if (one == "rzi") {
      c.rounding = Rounding::zero;
      c.to_integral = true;
      continue;
    }
    c.plain = false;
    if (one == "rz")
      c.rounding = Rounding::zero;
    else if (one == "rm")
      c.rounding = Rounding::down;
    else if (one == "rp")
      c.rounding = Rounding::up;
    else if (one == "rna")
      c.rounding = Rounding::away;
    else if (one == "rni")
      c.to_integral = true;
    else if (one == "rmi")
      c.to_integral = true, c.rounding = Rounding::down;
    else if (one == "rpi")
      c.to_integral = true, c.rounding = Rounding::up;
    else if (const auto *const flag =
                 std::ranges::find(flags, one, [](const auto &row) { return row.first; });
             flag != std::end(flags))
      c.*flag->second = true;
    else
      return {};
  }
  if (c.to_integral && c.to != Kind::integer) c.plain = false;
  return c;
}

}  // namespace cushim::ptx::execute
