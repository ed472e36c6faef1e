// SPDX-License-Identifier: Apache-2.0
// Variables and parameters, and their layout.
#include <algorithm>

#include "layout.hpp"
#include "parser.hpp"

namespace cushim::ptx {
namespace {

constexpr std::size_t most_dimensions = 16;

std::optional<StateSpace> space_of(std::string_view word) {
  static constexpr std::pair<std::string_view, StateSpace> spaces[] = {
      {".global", StateSpace::global}, {".shared", StateSpace::shared},      {".const", StateSpace::const_},
      {".local", StateSpace::local},   {".param", StateSpace::param},        {".reg", StateSpace::reg},
      {".tex", StateSpace::tex},       {".shared::cta", StateSpace::shared}, {".sreg", StateSpace::sreg}};
  for (const auto &[spelling, space] : spaces)
    if (spelling == word) return space;
  return std::nullopt;
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
