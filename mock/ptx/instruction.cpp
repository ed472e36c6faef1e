// SPDX-License-Identifier: Apache-2.0
// Instructions: guard and mnemonic, and the check of their operands.
#include <algorithm>

#include "parser.hpp"

namespace cushim::ptx {
namespace {

constexpr std::size_t most_modifiers = 32;

}  // namespace

// Parses the guard @p or @!p, and the instruction after it.
void Parser::guard() {
  advance();
  guard_negated_ = accept('!');
  const Position position = token_.position;
  const std::string_view name = expect_identifier();
  const Binding found = find(names_.intern(name));
  if (found.kind == BindingKind::none)
    error(position, "Unknown symbol " + quoted(name));
  else if (found.kind != BindingKind::reg || current_body().registers[found.index].type != Type::pred)
    error(position, "Predicate expression expected");
  guard_ = found.kind == BindingKind::reg ? found.index : no_index;
  if (token_.kind != TokenKind::identifier) syntax_error();
  instruction(token_);
}

void Parser::instruction(Token mnemonic) {
  lexer_.extend_by_modifiers(mnemonic);
  if (lexer_.modifier_ahead()) mnemonic.text = join_modifiers(mnemonic);
  Instruction made;
  made.position = mnemonic.position;
  made.location = location_;
  made.guard = guard_;
  made.guard_negated = guard_negated_;
  guard_ = no_index;
  guard_negated_ = false;
  made.mnemonic = mnemonic_of(mnemonic);
  made.opcode = result_.module.mnemonics[made.mnemonic].opcode;
  opcode_ = made.opcode;
  operands_known_ = true;
  advance();
  scratch_.clear();
  if (made.opcode == Opcode::call)
    call_operands();
  else
    operands();
  if (!token_.is(';')) syntax_error();
  advance();
  made.operand_count = static_cast<std::uint8_t>(scratch_.size());
  made.first_operand = keep(scratch_);
  if (operands_known_) check(made);
  current_body().instructions.push_back(made);
}

// Joins modifiers that are separated by white space. The module owns the resulting text.
std::string_view Parser::join_modifiers(Token token) {
  auto joined = std::make_unique<std::string>(token.text);
  while (lexer_.modifier_ahead()) {
    Token word = lexer_.next();
    lexer_.extend_by_modifiers(word);
    *joined += word.text;
  }
  text_->joined.push_back(std::move(joined));
  return *text_->joined.back();
}

// Returns whether an instruction flushes subnormal numbers without .ftz if it has a form with .ftz. Measured
// with ptxas 13.0: f32 instructions of sm_1x do; before PTX 1.5, not conversions from or to 64 bits.
bool Parser::flushes_by_default(const Mnemonic &mnemonic) const {
  const Module &module = result_.module;
  if (module.target.sm >= 20 || !mnemonic.has(Modifier::f32) || mnemonic.has(Modifier::ftz)) return false;
  if (mnemonic.opcode != Opcode::cvt || module.version_major * 10 + module.version_minor >= 15) return true;
  return std::none_of(mnemonic.types.begin(), mnemonic.types.end(), [](Type one) { return bits(one) == 64; });
}

// Returns the index of the mnemonic. Looks up each spelling in the vocabulary and the instruction table once.
std::uint32_t Parser::mnemonic_of(const Token &token) {
  std::uint32_t &slot = mnemonics_.slot(token.text);
  std::vector<Mnemonic> &all = result_.module.mnemonics;
  if (slot != NameTable::none) {
    if (!known_[slot].valid) error(token.position, known_[slot].reason);
    return slot;
  }
  slot = static_cast<std::uint32_t>(all.size());
  Mnemonic made;
  KnownMnemonic known;
  made.text = token.text;
  std::string_view rest = token.text;
  const std::size_t dot = rest.find('.');
  const std::string_view name = rest.substr(0, dot);
  if (const auto opcode = find_opcode(name))
    made.opcode = *opcode;
  else
    known.reason = "Not a name of any known instruction: " + quoted(name);
  while (rest.find('.') != std::string_view::npos) {
    rest.remove_prefix(rest.find('.') + 1);
    const std::string_view word = rest.substr(0, rest.find('.'));
    const auto modifier = find_modifier(word);
    if (!modifier) {
      if (known.reason.empty()) known.reason = "Unknown modifier '." + std::string(word) + "'";
      continue;
    }
    if (made.modifiers.size() == most_modifiers) fatal(token.position, "Too many modifiers");
    made.modifiers.push_back(*modifier);
    if (const Type type = type_of(*modifier); type != Type::none) made.types.push_back(type);
  }
  if (known.reason.empty()) known.forms = matching_forms(made, known.reason);
  known.valid = known.reason.empty();
  made.ordered = made.text;
  if (known.valid) {
    std::uint16_t form = known.forms.front();
    if (flushes_by_default(made)) {
      made.modifiers.push_back(Modifier::ftz);
      std::string reason;
      if (const auto flushing = matching_forms(made, reason); !flushing.empty())
        form = flushing.front();
      else
        made.modifiers.pop_back();
    }
    if (std::string ordered = in_order(form, made); !ordered.empty()) {
      text_->joined.push_back(std::make_unique<std::string>(std::move(ordered)));
      made.ordered = *text_->joined.back();
    }
  }
  if (!known.valid) error(token.position, known.reason);
  all.push_back(std::move(made));
  known_.push_back(std::move(known));
  return slot;
}

void Parser::check(Instruction &instruction) {
  const KnownMnemonic &known = known_[instruction.mnemonic];
  if (!known.valid) return;
  const Module &module = result_.module;
  const Mnemonic &mnemonic = module.mnemonics[instruction.mnemonic];
  const Operand *operands = current_body().operands.data() + instruction.first_operand;
  for (const std::uint16_t form : known.forms) {
    if (!operands_fit(form, mnemonic, {operands, instruction.operand_count}, current_body())) continue;
    instruction.form = form;
    for (std::size_t i = 0; i < instruction.operand_count; ++i)
      if (operands[i].kind == OperandKind::address && operands[i].base == Base::none &&
          !mnemonic.has(Modifier::local))
        error(instruction.position, "Immediate addresses allowed only for .local state space");
    return check_target(instruction);
  }
  error(instruction.position, "Arguments mismatch for instruction " + quoted(spelling(instruction.opcode)));
}

// Returns why an instruction of old PTX versions or targets has no such form; empty if it has.
std::string Parser::removed(const Instruction &instruction) const {
  const Module &module = result_.module;
  const Mnemonic &mnemonic = module.mnemonics[instruction.mnemonic];
  const std::uint32_t version = module.version_major * 10 + module.version_minor;
  const std::string name = quoted(spelling(instruction.opcode));
  if ((instruction.opcode == Opcode::vote || instruction.opcode == Opcode::shfl) && version >= 64 &&
      module.target.sm >= 70 && !mnemonic.has(Modifier::sync))
    return "Instruction " + name +
           " without '.sync' is not supported on .target sm_70 and higher from PTX ISA version 6.4";
  if (instruction.opcode == Opcode::mad && mnemonic.has(Modifier::f32) && version >= 32 &&
      module.target.sm >= 20 && forms()[instruction.form].version < 20)
    return "Rounding modifier required for instruction " + name;
  return {};
}

// Reports a target that lacks the instruction, once per spelling.
void Parser::check_target(const Instruction &instruction) {
  KnownMnemonic &known = known_[instruction.mnemonic];
  if (known.target_checked) return;
  known.target_checked = true;
  const Form &form = forms()[instruction.form];
  const Module &module = result_.module;
  const std::string_view text = module.mnemonics[instruction.mnemonic].text;
  const std::uint32_t version = module.version_major * 10 + module.version_minor;
  if (version < form.version)
    error(instruction.position, "Feature " + quoted(text) + " requires PTX ISA .version " +
                                    std::to_string(form.version / 10) + "." +
                                    std::to_string(form.version % 10) + " or later");
  if (module.target.sm < form.sm || (form.architecture_specific && module.target.suffix == 0))
    error(instruction.position, "Feature " + quoted(text) + " requires .target sm_" +
                                    std::to_string(form.sm) + (form.architecture_specific ? "a" : "") +
                                    " or higher");
  if (std::string reason = removed(instruction); !reason.empty())
    error(instruction.position, std::move(reason));
}

// Moves complete operands into the body. An undefined name is resolved at the end of its block.
std::uint32_t Parser::keep(std::span<const Operand> operands) {
  std::vector<Operand> &all = current_body().operands;
  const auto first = static_cast<std::uint32_t>(all.size());
  for (const Operand &one : operands) {
    if (one.kind == OperandKind::label && one.count == no_index) {
      const Position position{static_cast<std::uint32_t>(one.value >> 32),
                              static_cast<std::uint32_t>(one.value)};
      pending_.push_back({static_cast<std::uint32_t>(all.size()), no_index, one.index, opcode_, position});
    }
    all.push_back(one);
  }
  return first;
}

}  // namespace cushim::ptx
