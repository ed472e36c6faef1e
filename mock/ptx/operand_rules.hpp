// SPDX-License-Identifier: Apache-2.0
// The rules that operands of an instruction follow.
#pragma once

#include <cstdint>

#include <cushim/ptx/module.hpp>

namespace cushim::ptx {

// One operand of a form.
struct OperandRule {
  char kind = 0;  // the letter in forms.inc
  bool optional = false;
  std::uint8_t type_index = no_type;  // of the type, among the types of the mnemonic
  Type type = Type::none;             // used if type_index is no_type

  static constexpr std::uint8_t no_type = 255;
};

// The instruction of an operand.
struct OperandContext {
  const Mnemonic &mnemonic;
  const Body &body;
  unsigned vector;  // number of elements: 2, 4, 8 for .v2, .v4, .v8, else 1
};

// Returns OperandContext::vector of a mnemonic.
unsigned vector_of(const Mnemonic &mnemonic);

// Returns whether an operand follows a rule. Accepts any label.
bool operand_fits(const OperandRule &rule, const Operand &operand, const OperandContext &context);

}  // namespace cushim::ptx
