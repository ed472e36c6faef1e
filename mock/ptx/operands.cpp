// SPDX-License-Identifier: Apache-2.0
// Operands of instructions.
#include <algorithm>

#include "parser.hpp"

namespace cushim::ptx {
namespace {

constexpr std::size_t most_operands = 64;           // per instruction
constexpr std::size_t most_group_elements = 65536;  // per vector or argument list

// A selector of a video instruction has up to four digits: .b0, .h10, .b7531.
bool is_selector(std::string_view word) {
  if (word.size() < 2 || word.size() > 5 || (word[0] != 'b' && word[0] != 'h')) return false;
  return std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '7'; });
}

std::optional<std::uint8_t> component_number(std::string_view word) {
  if (word.size() != 1) return std::nullopt;
  for (const std::string_view letters : {"xyzw", "rgba"})
    if (const std::size_t at = letters.find(word[0]); at != std::string_view::npos)
      return static_cast<std::uint8_t>(at);
  return std::nullopt;
}

bool is_sign(const Token &token) { return token.is('+') || token.is('-'); }

}  // namespace

Binding Parser::find(NameId name) {
  return names_.find(name, [this](std::string_view text, const RegisterRange &range) {
    return new_register(text, range.type, range.vector);
  });
}

// Makes an unresolved label: Operand::index is the NameId, count is no_index, value holds the position.
Operand Parser::unresolved(NameId name, Position position) {
  Operand made;
  made.kind = OperandKind::label;
  made.index = name;
  made.count = no_index;
  made.value = static_cast<std::int64_t>(std::uint64_t{position.line} << 32 | position.column);
  return made;
}

void Parser::operands() {
  if (token_.is(';')) return;
  do {
    if (scratch_.size() == most_operands) fatal(token_.position, "Too many operands");
    scratch_.push_back(operand());
  } while (accept(','));
}

// Parses `{(results),} target {, (arguments)} {, table or prototype}`. Always makes four operands; an absent
// one is a sink.
void Parser::call_operands() {
  const Operand absent;
  Operand results = absent;
  Operand arguments = absent;
  Operand table = absent;
  if (token_.is('(')) {
    results = group(')', OperandKind::list);
    expect(',');
  }
  const Operand target = name_operand();
  if (accept(',')) {
    const bool has_arguments = token_.is('(');
    if (has_arguments) arguments = group(')', OperandKind::list);
    if (!has_arguments || accept(',')) table = name_operand();
  }
  scratch_ = {results, target, arguments, table};
}

// Parses one operand, or two as d|p.
Operand Parser::operand() {
  const Operand first = simple_operand();
  if (!token_.is('|')) return first;
  advance();
  const Operand both[] = {first, simple_operand()};
  Operand made;
  made.kind = OperandKind::pair;
  made.count = 2;
  made.index = keep(both);
  return made;
}

Operand Parser::simple_operand() {
  switch (token_.kind) {
    case TokenKind::identifier:
      return name_operand();
    case TokenKind::sink:
      advance();
      return {};
    case TokenKind::number:
      return constant_operand();
    case TokenKind::punctuation:
      if (token_.is('[')) return bracket();
      if (token_.is('{')) return group('}', OperandKind::vector);
      if (token_.is('!') || token_.is('-')) return negated_operand();
      return constant_operand();
    default:
      syntax_error();
  }
}

// Parses !p, -r, or a constant expression.
Operand Parser::negated_operand() {
  const Token sign = token_;
  advance();
  if (token_.kind == TokenKind::identifier && !token_.is("WARP_SZ")) {
    Operand made = name_operand();
    if (made.kind == OperandKind::reg || made.kind == OperandKind::special) {
      made.negated = true;
      return made;
    }
    fatal(sign.position, "Parsing error near " + quoted(sign.text) + ": syntax error");
  }
  const auto value = unary(sign.text, unary_expression());
  if (!value) fatal(sign.position, "Invalid constant expression");
  return of_constant(continue_expression(*value));
}

Operand Parser::constant_operand() { return of_constant(expression()); }

Operand Parser::of_constant(const Constant &value) {
  Operand made;
  made.kind = value.kind == NumberKind::integer ? OperandKind::integer
              : value.kind == NumberKind::f32   ? OperandKind::f32
                                                : OperandKind::f64;
  made.value = value.bits;
  made.is_unsigned = value.is_unsigned;
  made.hexadecimal = value.hexadecimal;
  return made;
}

Operand Parser::name_operand() {
  if (token_.kind != TokenKind::identifier) syntax_error();
  if (token_.is("WARP_SZ")) return constant_operand();
  const Token name = token_;
  const NameId id = names_.intern(name.text);
  const Binding found = find(id);
  if (found.kind == BindingKind::symbol) {
    advance();
    return symbol_operand(found);
  }
  if (found.kind == BindingKind::reg) {
    Operand made;
    made.kind = OperandKind::reg;
    made.index = found.index;
    component(made);
    return made;
  }
  if (name.text[0] == '%')
    if (const auto special = find_special(name.text.substr(1))) return special_operand(*special);
  advance();
  return unresolved(id, name.position);
}

Operand Parser::special_operand(SpecialRegister special) {
  Operand made;
  made.kind = OperandKind::special;
  made.index = static_cast<std::uint32_t>(special);
  component(made);
  return made;
}

// Parses a component such as .x that directly follows the name, which is the current token, and advances.
void Parser::component(Operand &operand) {
  if (lexer_.following() != '.') return advance();
  advance();
  if (token_.kind != TokenKind::dot_word) syntax_error();
  const std::string_view word = token_.text.substr(1);
  const bool is_register = operand.kind == OperandKind::reg;
  const unsigned width = is_register ? current_body().registers[operand.index].vector
                                     : components(static_cast<SpecialRegister>(operand.index));
  if (const auto number = component_number(word); number && *number < width && width > 1) {
    operand.component = *number;
    operand.has_component = true;
    if (is_register) operand.index += 1 + *number;
  } else if (is_register && is_selector(word)) {
    operand.component = static_cast<std::uint8_t>(word[0]);
    operand.count = static_cast<std::uint32_t>(word.size() - 1);
    for (const char digit : word.substr(1)) operand.value = operand.value << 4 | (digit - '0');
  } else {
    error(token_.position, "Unknown vector selector: " + quoted(word));
    operands_known_ = false;
  }
  advance();
}

// Parses symbol, symbol + 4, symbol[2] or symbol[%r + 2].
Operand Parser::symbol_operand(const Binding &binding) {
  Operand made;
  made.kind = OperandKind::symbol;
  made.symbol_kind = binding.symbol_kind;
  made.index = binding.index;
  if (is_sign(token_)) made.value = offset();
  if (!token_.is('[')) return made;
  advance();
  const Variable *variable = find_variable(binding);
  const auto size = variable == nullptr ? 1 : std::max(1u, bits(variable->type) / 8) * variable->vector;
  if (token_.kind == TokenKind::identifier && !token_.is("WARP_SZ")) return element_operand(made, size);
  const Position position = token_.position;
  const Constant index = expression();
  expect(']');
  if (index.kind != NumberKind::integer ||
      __builtin_mul_overflow(index.bits, std::int64_t{size}, &made.value))
    error(position, "Invalid array index");
  if (opcode_ == Opcode::ld || opcode_ == Opcode::ldu || opcode_ == Opcode::st) {  // these use the element
    made.kind = OperandKind::address;
    made.base = Base::symbol;
  }
  return made;
}

// Parses the register, the constant and the bracket of symbol[%r + 2].
Operand Parser::element_operand(Operand array, std::int64_t size) {
  const Token name = token_;
  const Operand index = name_operand();
  const Type type = index.kind == OperandKind::reg ? current_body().registers[index.index].type : Type::none;
  if (type_class(type) == TypeClass::floating || bits(type) < 16 || bits(type) > 64) {
    error(name.position,
          "Illegal to use symbol " + quoted(name.text) + " as array index. Use integer or bit only.");
    operands_known_ = false;
  }
  array.kind = OperandKind::address;
  array.base = Base::symbol;
  if (token_.is('+')) array.value = offset() * size;
  expect(']');
  const Operand parts[] = {array, index};
  Operand made;
  made.kind = OperandKind::element;
  made.count = 2;
  made.index = keep(parts);
  made.value = size;
  return made;
}

// Returns null if the symbol is a function.
const Variable *Parser::find_variable(const Binding &binding) const {
  const Module &module = result_.module;
  switch (binding.symbol_kind) {
    case SymbolKind::variable:
      return &module.variables[binding.index];
    case SymbolKind::parameter:
      return &module.functions[function_].parameters[binding.index];
    case SymbolKind::result:
      return &module.functions[function_].results[binding.index];
    case SymbolKind::local:
      return &module.functions[function_].body.locals[binding.index];
    default:
      return nullptr;
  }
}

// Parses the signed integer constant that follows a base.
std::int64_t Parser::offset() {
  const Token sign = token_;
  advance();
  const Position position = token_.position;
  const auto first = unary(sign.text, unary_expression());
  const Constant value = first ? continue_expression(*first) : Constant{NumberKind::f64, 0, false, false};
  if (value.kind != NumberKind::integer) fatal(position, "Integer constant expected");
  return value.bits;
}

// Parses [base + offset], or [a, b, ...] with coordinates and samplers.
Operand Parser::bracket() {
  advance();
  const std::size_t base = scratch_.size();
  do {
    if (scratch_.size() - base == most_operands) fatal(token_.position, "Too many operands");
    scratch_.push_back(bracket_element());
  } while (accept(','));
  expect(']');
  Operand made = scratch_[base];
  if (scratch_.size() - base > 1) {
    made = {};
    made.kind = OperandKind::bracket;
    made.count = static_cast<std::uint32_t>(scratch_.size() - base);
    made.index = keep(std::span(scratch_).subspan(base));
  }
  scratch_.resize(base);
  return made;
}

// Parses an address or a vector of coordinates.
Operand Parser::bracket_element() {
  if (token_.is('{')) return group('}', OperandKind::vector);
  Operand made = simple_operand();
  const bool is_register = made.kind == OperandKind::reg || made.kind == OperandKind::special;
  if (is_register && is_sign(token_)) made.value = offset();
  switch (made.kind) {
    case OperandKind::reg:
      made.base = Base::reg;
      break;
    case OperandKind::symbol:
      made.base = Base::symbol;
      break;
    case OperandKind::integer:
      break;
    default:
      return made;  // a label (an unknown symbol so far), or an operand that fits no form
  }
  made.kind = OperandKind::address;
  return made;
}

// Parses {a, b, ...} or (a, b, ...). The opening bracket is the current token.
Operand Parser::group(char close, OperandKind kind) {
  advance();
  const std::size_t base = scratch_.size();
  while (!token_.is(close)) {
    if (scratch_.size() - base == most_group_elements) fatal(token_.position, "Too many operands");
    if (token_.is('{') || token_.is('[')) syntax_error();
    scratch_.push_back(simple_operand());
    if (!accept(',')) break;
  }
  expect(close);
  Operand made;
  made.kind = kind;
  made.count = static_cast<std::uint32_t>(scratch_.size() - base);
  made.index = keep(std::span(scratch_).subspan(base));
  scratch_.resize(base);
  return made;
}

}  // namespace cushim::ptx
