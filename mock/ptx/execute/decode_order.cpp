// SPDX-License-Identifier: Apache-2.0
// The order of the operands of sums and products, and modifiers of operands of selp. ptxas 13.0 puts the
// value that is defined first in front. A register that several instructions write has a merged value in
// other blocks. Merged values come after others; the order of two of them is not known, and here that of the
// instructions that write them last.
#include "execute/body_walk.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

static constexpr std::uint32_t merged = 1u << 31;

void FunctionDecoder::prepare_definitions() {
  const Body &body = function.body;
  definitions.assign(body.registers.size(), {});
  begins_block.assign(body.instructions.size() + 1, false);
  mark_branch_targets(body, begins_block);
  for (std::size_t i = 0; i < body.instructions.size(); ++i) {
    const Instruction &one = body.instructions[i];
    each_write(body, one, [this](std::uint32_t index) { ++definitions[index].writes; });
    const std::size_t first = one.operand_count != 0 && is_written(body.operands[one.first_operand]) ? 1 : 0;
    for (std::size_t k = first; k < one.operand_count; ++k)
      each_register(body, body.operands[one.first_operand + k],
                    [this](std::uint32_t index) { ++definitions[index].reads; });
    if (one.opcode == Opcode::bra || one.opcode == Opcode::brx) begins_block[i + 1] = true;
  }
}

std::uint32_t FunctionDecoder::definition_of(const Operand &one) const {
  const Definition &found = definitions[one.index];
  const bool is_merged = found.writes > 1 && (found.is_guarded || found.block != block);
  return is_merged ? found.at | merged : found.at;
}

bool FunctionDecoder::is_defined_before(const Operand &one, const Operand &other) const {
  return one.kind == OperandKind::reg && other.kind == OperandKind::reg &&
         definition_of(one) < definition_of(other);
}

void FunctionDecoder::note_definitions() {
  const Opcode opcode = instruction->opcode;
  const bool is_guarded = instruction->guard != no_index;
  const bool is_copy = (opcode == Opcode::mov || opcode == Opcode::neg || opcode == Opcode::abs) &&
                       !is_guarded && mnemonic().type() == Type::f64 && operand(1).kind == OperandKind::reg;
  const std::uint32_t at = is_copy ? definition_of(operand(1)) : instruction_index;
  each_write(function.body, *instruction, [&](std::uint32_t index) {
    Definition &one = definitions[index];
    one.at = at;
    one.block = block;
    one.is_guarded = is_guarded;
  });
}

// ptxas 13.0 makes neg and abs modifiers of selp and slct, across blocks too; unlike the instructions, these
// keep the bits of a NaN. Here: of selp in the same block.
std::uint32_t FunctionDecoder::sign_changed(const Operand &one) {
  if (module.target.debug || one.kind != OperandKind::reg || one.negated) return no_index;
  const Definition &found = definitions[one.index];
  if (found.writes == 0 || found.is_guarded || found.block != block) return no_index;
  const Instruction &change = function.body.instructions[found.at];
  const Mnemonic &name = module.mnemonics[change.mnemonic];
  const bool negates = change.opcode == Opcode::neg;
  if ((!negates && change.opcode != Opcode::abs) || name.type() != Type::f32 || name.has(Modifier::ftz))
    return no_index;
  const Operand &from = function.body.operands[change.first_operand + 1];
  if (from.kind != OperandKind::reg || definitions[from.index].at >= found.at) return no_index;
  constexpr std::uint32_t sign = 1u << 31;
  const std::uint32_t made = allocate(4);
  emit(negates ? "xor.b32" : "and.b32", made, source(from, 4, "f32"), constant(4, negates ? sign : ~sign));
  return made;
}

}  // namespace cushim::ptx::execute
