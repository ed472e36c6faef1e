// SPDX-License-Identifier: Apache-2.0
#include "constant.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <system_error>

namespace cushim::ptx {
namespace {

constexpr std::size_t f32_digits = 8;
constexpr std::size_t f64_digits = 16;

std::optional<std::uint64_t> read_digits(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<Constant> read_float_bits(std::string_view digits, std::size_t width, NumberKind kind) {
  if (digits.size() != width) return std::nullopt;
  const auto bits = read_digits(digits, 16);
  if (!bits) return std::nullopt;
  return Constant{kind, static_cast<std::int64_t>(*bits), false, false};
}

std::optional<Constant> read_decimal_fraction(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  // The exponent is out of range: a negative one gives zero, any other infinity.
  if (error == std::errc::result_out_of_range)
    value = text.find('-') == std::string_view::npos ? std::numeric_limits<double>::infinity() : 0.0;
  else if (error != std::errc{})
    return std::nullopt;
  return Constant{NumberKind::f64, std::bit_cast<std::int64_t>(value), false, false};
}

std::optional<Constant> read_integer(std::string_view text) {
  Constant made;
  if (text.ends_with('U')) {
    made.is_unsigned = true;
    text.remove_suffix(1);
  }
  int base = 10;
  std::size_t prefix = 0;
  if (text.size() > 1 && text[0] == '0') {
    base = text[1] == 'x' || text[1] == 'X' ? 16 : text[1] == 'b' || text[1] == 'B' ? 2 : 8;
    prefix = base == 8 ? 1 : 2;
  }
  made.hexadecimal = base != 10;
  const auto value = read_digits(text.substr(prefix), base);
  if (!value) return std::nullopt;
  made.bits = static_cast<std::int64_t>(*value);
  made.is_unsigned |= made.bits < 0;
  return made;
}

Constant of_integer(std::uint64_t value, bool is_unsigned) {
  return {NumberKind::integer, static_cast<std::int64_t>(value), is_unsigned, false};
}

Constant of_double(double value) {
  return {NumberKind::f64, std::bit_cast<std::int64_t>(value), false, false};
}

std::optional<Constant> binary_floating(std::string_view op, double left, double right) {
  if (op == "+") return of_double(left + right);
  if (op == "-") return of_double(left - right);
  if (op == "*") return of_double(left * right);
  if (op == "/" && right != 0) return of_double(left / right);
  return std::nullopt;
}

template <typename T>
bool compare(std::string_view op, T left, T right) {
  if (op == "<") return left < right;
  if (op == ">") return left > right;
  if (op == "<=") return left <= right;
  if (op == ">=") return left >= right;
  return op == "==" ? left == right : left != right;
}

std::optional<Constant> divide(std::string_view op, const Constant &left, const Constant &right,
                               bool is_unsigned) {
  if (right.bits == 0) return std::nullopt;
  if (is_unsigned) {
    const auto a = static_cast<std::uint64_t>(left.bits);
    const auto b = static_cast<std::uint64_t>(right.bits);
    return of_integer(op == "/" ? a / b : a % b, true);
  }
  if (right.bits == -1)  // the most negative number has no positive counterpart
    return of_integer(op == "/" ? 0 - static_cast<std::uint64_t>(left.bits) : 0, false);
  return of_integer(static_cast<std::uint64_t>(op == "/" ? left.bits / right.bits : left.bits % right.bits),
                    false);
}

Constant shift(std::string_view op, const Constant &left, std::uint64_t by) {
  const auto value = static_cast<std::uint64_t>(left.bits);
  if (op == "<<") return of_integer(by > 63 ? 0 : value << by, left.is_unsigned);
  if (left.is_unsigned) return of_integer(by > 63 ? 0 : value >> by, true);
  return of_integer(static_cast<std::uint64_t>(left.bits >> (by > 63 ? 63 : by)), false);
}

}  // namespace

std::optional<Constant> read_number(std::string_view text) {
  if (text.size() > 2 && text[0] == '0') {
    if (text[1] == 'f' || text[1] == 'F') return read_float_bits(text.substr(2), f32_digits, NumberKind::f32);
    if (text[1] == 'd' || text[1] == 'D') return read_float_bits(text.substr(2), f64_digits, NumberKind::f64);
  }
  const bool based = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (!based && text.find_first_of(".eE") != std::string_view::npos) return read_decimal_fraction(text);
  return read_integer(text);
}

double as_double(const Constant &value) {
  if (value.kind == NumberKind::f64) return std::bit_cast<double>(value.bits);
  if (value.kind == NumberKind::f32)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits)));
  return value.is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(value.bits))
                           : static_cast<double>(value.bits);
}

std::optional<Constant> unary(std::string_view op, const Constant &value) {
  if (op == "+") return value;
  if (op == "-") {
    if (value.kind == NumberKind::f32)
      return Constant{NumberKind::f32, value.bits ^ 0x80000000, false, false};
    if (value.kind == NumberKind::f64) return of_double(-std::bit_cast<double>(value.bits));
    Constant made = of_integer(0 - static_cast<std::uint64_t>(value.bits), false);
    made.hexadecimal = value.hexadecimal;
    return made;
  }
  if (value.kind != NumberKind::integer) return std::nullopt;
  if (op == "~") return of_integer(~static_cast<std::uint64_t>(value.bits), value.is_unsigned);
  return of_integer(value.bits == 0, false);
}

std::optional<Constant> binary(std::string_view op, const Constant &left, const Constant &right) {
  if (left.kind != NumberKind::integer || right.kind != NumberKind::integer)
    return binary_floating(op, as_double(left), as_double(right));
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const auto a = static_cast<std::uint64_t>(left.bits);
  const auto b = static_cast<std::uint64_t>(right.bits);
  if (op == "+") return of_integer(a + b, is_unsigned);
  if (op == "-") return of_integer(a - b, is_unsigned);
  if (op == "*") return of_integer(a * b, is_unsigned);
  if (op == "/" || op == "%") return divide(op, left, right, is_unsigned);
  if (op == "<<" || op == ">>") return shift(op, left, b);
  if (op == "&") return of_integer(a & b, is_unsigned);
  if (op == "|") return of_integer(a | b, is_unsigned);
  if (op == "^") return of_integer(a ^ b, is_unsigned);
  if (op == "&&") return of_integer(a != 0 && b != 0, false);
  if (op == "||") return of_integer(a != 0 || b != 0, false);
  return of_integer(is_unsigned ? compare(op, a, b) : compare(op, left.bits, right.bits), false);
}

int precedence(std::string_view op) {
  static constexpr struct {
    std::string_view op;
    int strength;
  } operators[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
                   {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
                   {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
  for (const auto &one : operators)
    if (one.op == op) return one.strength;
  return 0;
}

}  // namespace cushim::ptx
