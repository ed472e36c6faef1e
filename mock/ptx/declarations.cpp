// SPDX-License-Identifier: Apache-2.0
// Variables and parameters: their layout and initializers.
#include <algorithm>
#include <bit>
#include <limits>

#include "parser.hpp"

namespace cushim::ptx {
namespace {

constexpr std::size_t most_dimensions = 16;

// An initializer may exceed 16 times the size of the text by this many bytes, as `{{1}, {2}}` leaves gaps.
constexpr std::uint64_t most_gaps = 1 << 20;

std::optional<StateSpace> space_of(std::string_view word) {
  static constexpr std::pair<std::string_view, StateSpace> spaces[] = {
      {".global", StateSpace::global}, {".shared", StateSpace::shared},      {".const", StateSpace::const_},
      {".local", StateSpace::local},   {".param", StateSpace::param},        {".reg", StateSpace::reg},
      {".tex", StateSpace::tex},       {".shared::cta", StateSpace::shared}, {".sreg", StateSpace::sreg}};
  for (const auto &[spelling, space] : spaces)
    if (spelling == word) return space;
  return std::nullopt;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

std::uint64_t element_size(const Variable &variable) { return std::max(1u, bits(variable.type) / 8); }

// Returns an empty optional if the product overflows.
std::optional<std::uint64_t> product(std::uint64_t left, std::uint64_t right) {
  std::uint64_t made = 0;
  if (__builtin_mul_overflow(left, right, &made)) return std::nullopt;
  return made;
}

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

// Parses one qualifier, such as .align. Qualifiers precede the name in any order.
bool Parser::qualifier(Qualifiers &made) {
  Variable &variable = made.variable;
  const Position position = token_.position;
  if (accept_word(".align")) {
    variable.alignment = expect_u32();
    made.has_alignment = true;
    if (!std::has_single_bit(variable.alignment)) error(position, "Alignment must be a power of two");
    if (!std::has_single_bit(variable.alignment)) variable.alignment = 1;
    return true;
  }
  if (accept_word(".attribute")) return attribute(variable), true;
  if (accept_word(".ptr")) return pointer(variable), true;
  if (const auto space = space_of(token_.text)) {
    if (variable.space != StateSpace::none) syntax_error();
    variable.space = *space;
    return advance(), true;
  }
  for (const auto &[word, size] : {std::pair{".v2", 2}, {".v4", 4}, {".v8", 8}})
    if (accept_word(word)) return variable.vector = static_cast<std::uint8_t>(size), true;
  const auto modifier = find_modifier(token_.text.substr(1));
  if (!modifier || type_of(*modifier) == Type::none || variable.type != Type::none) return false;
  variable.type = type_of(*modifier);
  return advance(), true;
}

Parser::Qualifiers Parser::qualifiers(Linkage linkage) {
  Qualifiers made;
  made.variable.linkage = linkage;
  while (token_.kind == TokenKind::dot_word)
    if (!qualifier(made)) syntax_error();
  if (made.variable.space == StateSpace::none || made.variable.type == Type::none) syntax_error();
  return made;
}

// Parses `.attribute(.managed)` and `.attribute(.unified(uuid1, uuid2))`.
void Parser::attribute(Variable &variable) {
  expect('(');
  do {
    if (accept_word(".managed")) {
      variable.managed = true;
      continue;
    }
    if (!accept_word(".unified")) syntax_error();
    variable.unified = true;
    expect('(');
    do expect_unsigned();
    while (accept(','));
    expect(')');
  } while (accept(','));
  expect(')');
}

// Parses `.ptr{.space}{.align N}`.
void Parser::pointer(Variable &variable) {
  variable.pointer = true;
  if (const auto space = space_of(token_.text)) {
    variable.pointer_space = *space;
    advance();
  }
  if (accept_word(".align")) variable.pointer_alignment = expect_u32();
}

void Parser::variables(Linkage linkage) {
  const Qualifiers shared = qualifiers(linkage);
  if (shared.variable.space == StateSpace::reg || shared.variable.space == StateSpace::sreg) syntax_error();
  do {
    Variable made = declarator(shared);
    if (token_.is('=')) initializer(made);
    lay_out(made);
    if (function_ != no_index) lay_out_local(made);
    enter_variable(std::move(made));
  } while (accept(','));
  expect(';');
}

Variable Parser::declarator(const Qualifiers &qualifiers) {
  Variable made = qualifiers.variable;
  made.position = token_.position;
  if (token_.kind == TokenKind::sink) {  // in a prototype
    made.name = token_.text;
    advance();
  } else {
    made.name = expect_identifier();
  }
  if (!qualifiers.has_alignment)
    made.alignment = static_cast<std::uint32_t>(element_size(made)) * made.vector;
  if (accept('<')) {  // v<4> declares v0 to v3; only registers may use it
    error(made.position, "Parameterized variable name " + quoted(made.name) + " is for registers only");
    primary_expression();
    expect('>');
  }
  array_dimensions(made);
  return made;
}

void Parser::array_dimensions(Variable &variable) {
  while (accept('[')) {
    if (variable.dimensions.size() == most_dimensions)
      fatal(token_.position, "Array has too many dimensions");
    std::uint64_t size = 0;
    if (!token_.is(']')) {
      const Position position = token_.position;
      size = expect_unsigned();
      if (size == 0) error(position, "Array size must be greater than zero");
    } else if (!variable.dimensions.empty()) {
      syntax_error();
    } else {
      variable.unsized = true;
    }
    variable.dimensions.push_back(size);
    expect(']');
  }
}

// Computes the size of the variable.
void Parser::lay_out(Variable &variable) {
  std::optional<std::uint64_t> size = element_size(variable) * variable.vector;
  for (const std::uint64_t dimension : variable.dimensions)
    if (size && dimension != 0) size = product(*size, dimension);
  if (!size || *size > options_.largest_variable) {
    error(variable.position, "Size of variable " + quoted(variable.name) + " is too large");
    size = 0;
  }
  variable.size = variable.unsized ? 0 : *size;
}

void Parser::enter_variable(Variable &&variable) {
  const bool inside = function_ != no_index;
  std::vector<Variable> &into = inside ? current_body().locals : result_.module.variables;
  const NameId name = names_.intern(variable.name);
  const Binding made{BindingKind::symbol, inside ? SymbolKind::local : SymbolKind::variable,
                     static_cast<std::uint32_t>(into.size())};
  if (names_.bind(name, made)) {
    into.push_back(std::move(variable));
    return;
  }
  // An extern declaration may be repeated, and a definition may follow it.
  const Binding known = find(name);
  if (!inside && known.kind == BindingKind::symbol && known.symbol_kind == SymbolKind::variable) {
    Variable &old = into[known.index];
    const bool same = old.space == variable.space && old.type == variable.type;
    if (same && variable.linkage == Linkage::external) return;
    if (same && old.linkage == Linkage::external) {
      old = std::move(variable);
      return;
    }
  }
  error(variable.position, "Duplicate definition of variable " + quoted(variable.name));
}

// Initializers.

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

// Parameters.

std::vector<Variable> Parser::parameter_list() {
  std::vector<Variable> made;
  expect('(');
  while (!token_.is(')')) {
    const Qualifiers of_one = qualifiers(Linkage::internal);
    made.push_back(declarator(of_one));
    lay_out(made.back());
    if (!accept(',')) break;
  }
  expect(')');
  return made;
}

void Parser::lay_out_parameters(Function &function) {
  std::uint64_t end = 0;
  for (Variable &one : function.parameters) {
    if (one.space != StateSpace::param) continue;
    one.offset = round_up(end, one.alignment);
    end = one.offset + one.size;
    function.parameter_alignment = std::max(function.parameter_alignment, one.alignment);
  }
  function.parameter_size = end;
}

void Parser::bind_parameters(Function &function) {
  const auto bind = [&](std::vector<Variable> &list, SymbolKind kind, std::vector<std::uint32_t> &registers) {
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      Binding made{BindingKind::symbol, kind, i};
      if (list[i].space == StateSpace::reg) {
        made = {BindingKind::reg, SymbolKind::none, new_register(list[i].name, list[i].type, list[i].vector)};
        registers.push_back(made.index);
      }
      if (!names_.bind(names_.intern(list[i].name), made))
        error(list[i].position, "Duplicate definition of variable " + quoted(list[i].name));
    }
  };
  bind(function.results, SymbolKind::result, function.result_registers);
  bind(function.parameters, SymbolKind::parameter, function.parameter_registers);
}

// Computes the offset, which counts from the start of all locals of the same space.
void Parser::lay_out_local(Variable &variable) {
  Body &body = current_body();
  const auto place = [&](std::uint64_t &size, std::uint32_t &alignment) {
    variable.offset = round_up(size, variable.alignment);
    size = variable.offset + variable.size;
    alignment = std::max(alignment, variable.alignment);
    if (size > options_.largest_variable) fatal(variable.position, "Too much memory for variables");
  };
  if (variable.space == StateSpace::local) place(body.local_size, body.local_alignment);
  if (variable.space == StateSpace::shared) place(body.shared_size, body.shared_alignment);
}

}  // namespace cushim::ptx
