// SPDX-License-Identifier: Apache-2.0
#include "kernels/image_queries.hpp"

#include <algorithm>

namespace cushim::sim {

bool asks_more_than_extents(const ptx::Module &module, const ptx::Function &function, ptx::Opcode query) {
  return std::ranges::any_of(function.body.instructions, [&](const ptx::Instruction &instruction) {
    if (instruction.opcode != query) return false;
    const ptx::Operand &object = function.body.operands[instruction.first_operand + 1];
    const ptx::Mnemonic &mnemonic = module.mnemonics[instruction.mnemonic];
    return object.base == ptx::Base::reg && !mnemonic.has(ptx::Modifier::width) &&
           !mnemonic.has(ptx::Modifier::height) && !mnemonic.has(ptx::Modifier::depth);
  });
}

}  // namespace cushim::sim
