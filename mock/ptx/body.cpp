// SPDX-License-Identifier: Apache-2.0
// Function bodies: blocks, registers, labels and tables.
#include <algorithm>

#include "parser.hpp"

namespace cushim::ptx {
namespace {

constexpr std::size_t deepest_block = 128;
constexpr std::size_t most_registers = std::size_t{1} << 24;

// Returns whether `opcode` accepts a label of this kind as its target.
bool accepts_label_kind(Opcode opcode, OperandKind kind) {
  switch (opcode) {
    case Opcode::bra:
      return kind == OperandKind::label;
    case Opcode::brx:
      return kind == OperandKind::branch_targets;
    case Opcode::call:
      return kind == OperandKind::call_targets || kind == OperandKind::prototype;
    default:
      return false;
  }
}

}  // namespace

void Parser::open_scope() {
  if (names_.depth() > deepest_block) fatal(token_.position, "Blocks are nested too deeply");
  names_.open();
  scope_starts_.push_back(pending_.size());
}

void Parser::close_scope() {
  resolve_labels();
  scope_starts_.pop_back();
  names_.close();
}

void Parser::body() {
  location_ = no_index;
  open_scope();
  bind_parameters(current_function());
  const std::size_t outside = names_.depth();
  do body_statement();
  while (names_.depth() > outside);
  for (const PendingLabel &one : pending_)
    error(one.position, "Unknown symbol " + quoted(names_.text(one.name)));
  pending_.clear();
  close_scope();
}

void Parser::body_statement() {
  switch (token_.kind) {
    case TokenKind::identifier: {
      const Token first = token_;
      if (lexer_.following() != '.' && lexer_.accept_label_colon()) {
        advance();
        return label(first);
      }
      return instruction(first);
    }
    case TokenKind::dot_word:
      return body_directive();
    case TokenKind::punctuation:
      if (token_.is('@')) return guard();
      if (accept(';')) return;
      if (token_.is('{')) {
        open_scope();
        return advance();
      }
      if (!token_.is('}')) syntax_error();
      close_scope();
      return advance();
    default:
      syntax_error();
  }
}

void Parser::body_directive() {
  if (token_.is(".reg")) return registers();
  if (token_.is(".loc")) return location();
  if (token_.is(".file")) return file();
  if (token_.is(".pragma")) {
    std::vector<std::string_view> texts;
    pragma(texts);
    Body &body = current_body();
    for (const std::string_view text : texts)
      body.pragmas.push_back({text, static_cast<std::uint32_t>(body.instructions.size())});
    return;
  }
  if (token_.is(".section")) return section();
  variables(linkage().value_or(Linkage::internal));
}

// Parses `.reg{.vN} .type name, name<N>, ...;`.
void Parser::registers() {
  Qualifiers made = qualifiers(Linkage::internal);
  do register_declarator(made.variable.type, made.variable.vector);
  while (accept(','));
  expect(';');
}

void Parser::register_declarator(Type type, std::uint8_t vector) {
  const Position position = token_.position;
  const std::string_view name = expect_identifier();
  const auto duplicate = [&] { error(position, "Duplicate definition of variable " + quoted(name)); };
  if (accept('<')) {
    const Constant count = primary_expression();  // in an expression, ">" would be an operator
    if (count.kind != NumberKind::integer || count.bits < 0) syntax_error();
    const RegisterRange range{static_cast<std::uint64_t>(count.bits), type, vector};
    expect('>');
    if (!names_.bind_range(name, range)) duplicate();
    return;
  }
  const NameId id = names_.intern(name);
  if (!names_.bind(id, {BindingKind::reg, SymbolKind::none, new_register(name, type, vector)})) duplicate();
}

// Returns the number of the new register, which is that of the first component for a vector.
std::uint32_t Parser::new_register(std::string_view name, Type type, std::uint8_t vector) {
  std::vector<Register> &all = current_body().registers;
  if (all.size() + 1 + vector > most_registers) fatal(token_.position, "Too many registers");
  const auto number = static_cast<std::uint32_t>(all.size());
  all.push_back({name, type, vector});
  for (unsigned i = 0; vector > 1 && i < vector; ++i) all.push_back({name, type, 1});
  return number;
}

// Parses `.loc file line column {, function_name label {+ offset}, inlined_at file line column}`.
void Parser::location() {
  advance();
  SourceLocation made;
  made.file = expect_u32();
  made.line = expect_u32();
  made.column = expect_u32();
  while (accept(',')) {
    const std::string_view word = expect_identifier();
    if (word == "function_name") {
      made.inlined_function = expect_identifier();
      if (accept('+')) made.inlined_function_offset = expect_unsigned();
    } else if (word == "inlined_at") {
      made.inlined_file = expect_u32();
      made.inlined_line = expect_u32();
      made.inlined_column = expect_u32();
    } else {
      syntax_error();
    }
  }
  std::vector<SourceLocation> &all = current_body().locations;
  location_ = static_cast<std::uint32_t>(all.size());
  all.push_back(made);
}

// Labels.

void Parser::label(const Token &name) {
  const NameId id = names_.intern(name.text);
  if (token_.is(".branchtargets")) return branch_targets(name.text, id);
  if (token_.is(".calltargets")) return call_targets(name.text, id);
  if (token_.is(".callprototype")) return prototype(name.text, id);
  Body &body = current_body();
  const auto here = static_cast<std::uint32_t>(body.instructions.size());
  body.labels.push_back({name.text, here});
  bind_label(id, {OperandKind::label, here}, name.position);
}

void Parser::bind_label(NameId id, LabelTarget target, Position position) {
  if (!names_.bind_label(id, target))
    error(position, "Duplicate definition of label " + quoted(names_.text(id)));
}

// Parses `label: .branchtargets a, b, ...;`, or a range, label<N>.
void Parser::branch_targets(std::string_view name, NameId id) {
  const Position position = token_.position;
  advance();
  const auto table = static_cast<std::uint32_t>(current_body().branch_targets.size());
  BranchTargets made{name, {}};
  do {
    const Position at = token_.position;
    const NameId target = names_.intern(expect_identifier());
    pending_.push_back(
        {static_cast<std::uint32_t>(made.instructions.size()), table, target, Opcode::bra, at});
    made.instructions.push_back(no_index);
  } while (accept(','));
  expect(';');
  current_body().branch_targets.push_back(std::move(made));
  bind_label(id, {OperandKind::branch_targets, table}, position);
}

void Parser::call_targets(std::string_view name, NameId id) {
  const Position position = token_.position;
  advance();
  CallTargets made{name, {}};
  do {
    const Position at = token_.position;
    const std::string_view target = expect_identifier();
    const Binding found = find(names_.intern(target));
    if (found.kind != BindingKind::symbol || found.symbol_kind != SymbolKind::function)
      error(at, "Unknown symbol " + quoted(target));
    else
      made.functions.push_back(found.index);
  } while (accept(','));
  expect(';');
  std::vector<CallTargets> &all = current_body().call_targets;
  all.push_back(std::move(made));
  bind_label(id, {OperandKind::call_targets, static_cast<std::uint32_t>(all.size() - 1)}, position);
}

// Parses `label: .callprototype {(results)} _ (parameters) {.noreturn};`.
void Parser::prototype(std::string_view name, NameId id) {
  const Position position = token_.position;
  advance();
  Prototype made{name, {}, {}, false};
  if (token_.is('(')) made.results = parameter_list();
  if (token_.kind != TokenKind::sink) syntax_error();
  advance();
  if (token_.is('(')) made.parameters = parameter_list();
  Performance performance;
  while (token_.kind == TokenKind::dot_word)
    if (!performance_directive(performance)) syntax_error();
  made.no_return = performance.noreturn;
  expect(';');
  std::vector<Prototype> &all = current_body().prototypes;
  all.push_back(std::move(made));
  bind_label(id, {OperandKind::prototype, static_cast<std::uint32_t>(all.size() - 1)}, position);
}

// Resolves, at the end of a block, the uses that name a label of this block; the others remain for the
// enclosing block.
void Parser::resolve_labels() {
  Body &body = current_body();
  std::size_t kept = scope_starts_.back();
  for (std::size_t i = kept; i < pending_.size(); ++i) {
    const PendingLabel one = pending_[i];
    const LabelTarget *target = names_.label_here(one.name);
    if (target == nullptr) {
      pending_[kept++] = one;
    } else if (!accepts_label_kind(one.opcode, target->kind)) {
      error(one.position, "Label expected: " + quoted(names_.text(one.name)));
    } else if (one.table == no_index) {
      Operand &operand = body.operands[one.index];
      operand = {};
      operand.kind = target->kind;
      operand.index = target->index;
    } else {
      body.branch_targets[one.table].instructions[one.index] = target->index;
    }
  }
  pending_.resize(kept);
}

}  // namespace cushim::ptx
