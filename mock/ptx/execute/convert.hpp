// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Conversions between all types, one value at a time. lanes.hpp has fast versions of the frequent ones.
namespace cushim::ptx::execute {

enum class Kind : std::uint8_t { integer, f64, f32, tf32, f16, bf16, e5m2, e4m3, e3m2, e2m3, e2m1, ue8m0 };

enum class Rounding : std::uint8_t { nearest, zero, down, up, away };

struct Conversion {
  Kind from = Kind::integer, to = Kind::integer;
  bool from_signed = false, to_signed = false;  // for integers
  std::uint8_t from_bits = 0, to_bits = 0;
  std::uint8_t from_bytes = 0, to_bytes = 0;  // sizes of the registers
  Rounding rounding = Rounding::nearest;
  bool to_integral = false;  // .rni, .rzi, .rmi, .rpi
  bool saturate = false, flush = false, relu = false, finite = false;
  bool pair = false;                        // two sources, one packed result
  bool packed = false;                      // one packed source of two elements, one packed result
  std::uint8_t from_part = 0, to_part = 0;  // bits of an element of a packed operand
  bool plain = false;                       // has no modifier that a fast loop would have to handle
};

// Returns an empty optional if the conversion is not supported.
std::optional<Conversion> describe_conversion(const std::vector<std::string_view> &modifiers,
                                              std::string_view to, std::string_view from);

// Returns the bits of the result; an integer is sign-extended to 64 bits.
std::uint64_t convert(const Conversion &, std::uint64_t bits);

// Conversions to and from f64, for arithmetic on narrower types.
double value_of(Kind, std::uint64_t bits);
std::uint64_t bits_of(Kind, double value, Rounding = Rounding::nearest);

}  // namespace cushim::ptx::execute
