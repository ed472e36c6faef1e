// SPDX-License-Identifier: Apache-2.0
// Fuzzes PTX text, as a program passes it to the driver.
#include <cushim/ptx/module.hpp>

#include "fuzz.hpp"

namespace {

using cushim::ptx::Body;
using cushim::ptx::Operand;
using cushim::ptx::OperandKind;

bool is_group(OperandKind kind) {
  return kind == OperandKind::vector || kind == OperandKind::list || kind == OperandKind::bracket ||
         kind == OperandKind::pair;
}

void promise_operand(const Body &body, const Operand &operand) {
  if (operand.kind == OperandKind::reg ||
      (operand.kind == OperandKind::address && operand.base == cushim::ptx::Base::reg))
    fuzz::promise(operand.index < body.registers.size(), "a register operand has a register");
  if (is_group(operand.kind))
    fuzz::promise(std::size_t{operand.index} + operand.count <= body.operands.size(),
                  "a group's operands exist");
  if (operand.kind == OperandKind::label)
    fuzz::promise(operand.index <= body.instructions.size(), "a label is at an instruction");
  if (operand.kind == OperandKind::prototype)
    fuzz::promise(operand.index < body.prototypes.size(), "a prototype exists");
  if (operand.kind == OperandKind::symbol && operand.symbol_kind == cushim::ptx::SymbolKind::local)
    fuzz::promise(operand.index < body.locals.size(), "a local exists");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto result = cushim::ptx::parse(fuzz::text_of(data, size));
  if (!result.ok()) {
    fuzz::promise(!result.log().empty(), "a refusal has words");
    return 0;
  }
  for (const auto &function : result.module.functions) {
    const Body &body = function.body;
    for (const Operand &operand : body.operands) promise_operand(body, operand);
    for (const auto &instruction : body.instructions)
      fuzz::promise(
          instruction.mnemonic < result.module.mnemonics.size() &&
              std::size_t{instruction.first_operand} + instruction.operand_count <= body.operands.size(),
          "an instruction's parts exist");
    for (const auto &table : body.branch_targets)
      for (const std::uint32_t at : table.instructions)
        fuzz::promise(at <= body.instructions.size(), "a branch table's labels exist");
  }
  for (const auto &variable : result.module.variables)
    fuzz::promise(variable.unsized || variable.initializer.size() <= variable.size,
                  "an initializer is not larger than its variable");
  return 0;
}
