// SPDX-License-Identifier: Apache-2.0
// Initializers of variables.
#include <algorithm>
#include <bit>
#include <limits>

#include "layout.hpp"
#include "parser.hpp"

namespace cushim::ptx {
namespace {

// An initializer may exceed 16 times the size of the text by this many bytes, as `{{1}, {2}}` leaves gaps.
constexpr std::uint64_t most_gaps = 1 << 20;

// Rounds a finite number to nearest even, as PTX narrows a decimal fraction.
std::uint16_t half_bits(double value, unsigned exponent_bits, unsigned fraction_bits) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const auto infinity = static_cast<std::uint16_t>(((1u << exponent_bits) - 1) << fraction_bits);
  if (exponent == 0x7ff)
    return static_cast<std::uint16_t>(sign | infinity | (fraction ? 1u << (fraction_bits - 1) : 0));
  const int unbiased = exponent - 1023;
  if (unbiased > bias) return sign | infinity;
  const int lost = static_cast<int>(52 - fraction_bits) + std::max(0, 1 - bias - unbiased);
  if (exponent == 0 || lost > 54) return sign;
  const std::uint64_t whole = fraction | std::uint64_t{1} << 52;
  std::uint64_t kept = whole >> lost;
  const std::uint64_t rest = whole & ((std::uint64_t{1} << lost) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (lost - 1);
  if (rest > middle || (rest == middle && (kept & 1) != 0)) ++kept;
  // A carry out of the fraction correctly increments the exponent.
  const int field = unbiased < 1 - bias ? 0 : unbiased + bias - 1;
  return static_cast<std::uint16_t>(sign | ((static_cast<std::uint64_t>(field) << fraction_bits) + kept));
}

std::uint64_t bits_for(Type type, const Constant &value) {
  if (type == Type::f64) return std::bit_cast<std::uint64_t>(as_double(value));
  if (type == Type::f32 || type == Type::tf32)
    return std::bit_cast<std::uint32_t>(static_cast<float>(as_double(value)));
  if (type == Type::f16) return half_bits(as_double(value), 5, 10);
  if (type == Type::bf16) return half_bits(as_double(value), 8, 7);
  return static_cast<std::uint64_t>(value.bits);
}

}  // namespace

void Parser::make_room(Variable &variable, std::uint64_t size) {
  if (size <= variable.initializer.size()) return;
  if (size > most_gaps + 16 * std::uint64_t{text_->source.size()})
    fatal(token_.position, "Initializer of " + quoted(variable.name) + " is too large");
  if (size > variable.initializer.capacity())
    variable.initializer.reserve(std::max<std::uint64_t>(size, 2 * variable.initializer.size()));
  variable.initializer.resize(size);
}

// Parses an initializer with a flat cursor over the elements; a brace begins a row of the next dimension.
void Parser::initializer(Variable &variable) {
  advance();
  if (type_class(variable.type) == TypeClass::reference) return reference_initializer(variable);
  const auto size = static_cast<unsigned>(element_size(variable));
  // The number of elements of the whole array, of a row, of a row of a row, ...
  std::vector<std::uint64_t> rows = {1};
  if (variable.vector > 1) rows.insert(rows.begin(), variable.vector);
  for (auto at = variable.dimensions.rbegin(); at != variable.dimensions.rend(); ++at) {
    const auto whole = *at == 0 ? std::numeric_limits<std::uint64_t>::max() : product(rows.front(), *at);
    rows.insert(rows.begin(), whole.value_or(std::numeric_limits<std::uint64_t>::max()));
  }
  if (!token_.is('{')) {
    if (rows.size() > 1) syntax_error();
    return element(variable, 0, size);
  }
  std::vector<std::uint64_t> ends;  // of the open rows
  std::uint64_t at = 0;
  std::uint64_t last = 0;
  do {
    while (token_.is('{')) {
      if (ends.size() + 1 > rows.size()) fatal(token_.position, "Too many levels in initializer");
      const std::uint64_t row = rows[ends.size()];
      ends.push_back(at > std::numeric_limits<std::uint64_t>::max() - row
                         ? std::numeric_limits<std::uint64_t>::max()
                         : at + row);
      advance();
    }
    if (!token_.is('}')) {
      if (ends.empty()) syntax_error();
      if (at >= ends.back()) fatal(token_.position, "Greater number of elements in array initializer");
      element(variable, at * size, size);
      last = std::max(last, ++at);
    }
    while (token_.is('}')) {
      if (ends.empty()) syntax_error();
      if (ends.size() > 1) at = ends.back();
      ends.pop_back();
      advance();
      if (ends.empty()) break;
    }
    if (ends.empty()) break;
  } while (accept(','));
  if (!ends.empty()) syntax_error();
  if (!variable.unsized) return;
  const std::uint64_t row = rows.size() > 1 ? rows[1] : 1;
  variable.dimensions[0] = (std::max(last, std::uint64_t{1}) + row - 1) / row;
  variable.unsized = false;
}

void Parser::element(Variable &variable, std::uint64_t at, unsigned size) {
  if (token_.kind == TokenKind::identifier && !token_.is("WARP_SZ"))
    return symbol_element(variable, at, size, std::nullopt);
  const Position position = token_.position;
  const Constant value = expression();
  if (value.kind == NumberKind::integer && token_.is('(')) {  // 0xff00(symbol)
    advance();
    symbol_element(variable, at, size, value);
    expect(')');
    return;
  }
  const bool floating = type_class(variable.type) == TypeClass::floating;
  if (floating != (value.kind != NumberKind::integer))
    error(position, "Initial value type of " + quoted(variable.name) + " does not match its type");
  store_constant(variable, at, size, value);
}

void Parser::store_constant(Variable &variable, std::uint64_t at, unsigned size, const Constant &value) {
  make_room(variable, at + size);
  std::uint64_t bits = value.kind == NumberKind::integer && type_class(variable.type) != TypeClass::floating
                           ? static_cast<std::uint64_t>(value.bits)
                           : bits_for(variable.type, value);
  for (unsigned i = 0; i < size && i < 8; ++i, bits >>= 8)
    variable.initializer[at + i] = static_cast<std::uint8_t>(bits);
}

// Parses symbol or generic(symbol), each with an optional offset. `mask` selects one byte of the address.
void Parser::symbol_element(Variable &variable, std::uint64_t at, unsigned size,
                            std::optional<Constant> mask) {
  Relocation made;
  made.offset = at;
  made.size = static_cast<std::uint8_t>(size);
  if (mask) {
    made.size = 1;
    const auto bits = static_cast<std::uint64_t>(mask->bits);
    while (made.shift < 64 && bits != std::uint64_t{0xff} << made.shift) made.shift += 8;
    if (made.shift == 64) fatal(token_.position, "Mask operator must select one byte");
  }
  Position position = token_.position;
  made.name = expect_identifier();
  if (made.name == "generic" && accept('(')) {
    made.generic = true;
    position = token_.position;
    made.name = expect_identifier();
    expect(')');
  }
  if (token_.is('+') || token_.is('-')) made.addend = offset();
  const Binding target = find(names_.intern(made.name));
  if (target.kind != BindingKind::symbol)
    fatal(position, "Invalid initial value symbol " + quoted(made.name));
  made.symbol = {target.symbol_kind, target.index};
  make_room(variable, at + size);
  variable.relocations.push_back(made);
}

// Parses the initializer `{ field = value, ... }` of a texture, sampler or surface reference.
void Parser::reference_initializer(Variable &variable) {
  expect('{');
  while (!token_.is('}')) {
    ReferenceField field;
    field.name = expect_identifier();
    expect('=');
    field.text = token_.text;
    if (token_.kind == TokenKind::identifier)
      advance();
    else
      field.value = expression().bits;
    variable.fields.push_back(field);
    if (!accept(',')) break;
  }
  expect('}');
}

}  // namespace cushim::ptx
