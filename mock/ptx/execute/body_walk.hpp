// SPDX-License-Identifier: Apache-2.0
// The registers that an instruction names or writes, and the instructions that branches jump to.
#pragma once

#include <cushim/ptx/module.hpp>

#include <cstdint>
#include <vector>

namespace cushim::ptx::execute {

// Calls `visit` with the number of each register in an operand.
template <class F>
void each_register(const Body &body, const Operand &one, F &&visit) {
  if (one.kind == OperandKind::reg || (one.kind == OperandKind::address && one.base == Base::reg))
    visit(one.index);
  const bool is_group =
      one.kind == OperandKind::vector || one.kind == OperandKind::list || one.kind == OperandKind::bracket;
  const bool is_pair = one.kind == OperandKind::pair || one.kind == OperandKind::element;
  const std::uint32_t count = is_group ? one.count : is_pair ? 2 : 0;
  for (std::uint32_t i = 0; i < count; ++i) each_register(body, body.operands[one.index + i], visit);
}

// Returns whether an instruction with this first operand writes it.
inline bool is_written(const Operand &first) {
  return first.kind == OperandKind::reg || first.kind == OperandKind::vector ||
         first.kind == OperandKind::list || first.kind == OperandKind::pair;
}

// Calls `visit` with the number of each register that an instruction writes.
template <class F>
void each_write(const Body &body, const Instruction &one, F &&visit) {
  if (one.operand_count == 0) return;
  if (const Operand &first = body.operands[one.first_operand]; is_written(first))
    each_register(body, first, visit);
}

// Sets the marks, one for each instruction and one for the end, of the targets of all branches.
inline void mark_branch_targets(const Body &body, std::vector<bool> &marks) {
  for (const Instruction &one : body.instructions)
    for (std::size_t k = 0; k < one.operand_count; ++k)
      if (const Operand &target = body.operands[one.first_operand + k]; target.kind == OperandKind::label)
        marks[target.index] = true;
  for (const BranchTargets &list : body.branch_targets)
    for (const std::uint32_t target : list.instructions) marks[target] = true;
}

}  // namespace cushim::ptx::execute
