// SPDX-License-Identifier: Apache-2.0
// PTX numbers and constant expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cushim::ptx {

enum class NumberKind : std::uint8_t { integer, f32, f64 };

struct Constant {
  NumberKind kind = NumberKind::integer;
  std::int64_t bits = 0;  // the integer, or the bit pattern of a floating-point number
  bool is_unsigned = false;
  bool hexadecimal = false;
};

// Returns an empty optional if `text` is not a number, or is an integer that does not fit in 64 bits.
std::optional<Constant> read_number(std::string_view text);

// Evaluate the operator `op`, as PTX spells it. Return an empty optional if the operator has no result:
// division by zero, or a floating-point operand of an integer operator.
std::optional<Constant> unary(std::string_view op, const Constant &value);
std::optional<Constant> binary(std::string_view op, const Constant &left, const Constant &right);

// Returns the precedence of a binary operator, 1 the lowest; 0 if `op` is not a binary operator.
int precedence(std::string_view op);

// Returns the value as a floating-point number.
double as_double(const Constant &value);

}  // namespace cushim::ptx
