// SPDX-License-Identifier: Apache-2.0
// The instruction table: the modifiers, types and operands of each form of an instruction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cushim/ptx/module.hpp>

namespace cushim::ptx {

struct Form {
  std::string_view text;               // the FORM entry of forms.inc
  std::uint16_t version = 0;           // first PTX ISA version, 10 * major + minor
  std::uint16_t sm = 0;                // the smallest target
  bool architecture_specific = false;  // needs a target with the suffix a or f
};

std::span<const Form> forms();

// Returns the forms of `mnemonic` whose modifiers match. If there are none, `reason` receives ptxas' message.
std::vector<std::uint16_t> matching_forms(const Mnemonic &mnemonic, std::string &reason);

// Returns the spelling of a mnemonic that matches `form`, with its modifiers in the order of the form: ptxas
// accepts modifiers that are not types in any order. Empty if they are in this order already.
std::string in_order(std::uint16_t form, const Mnemonic &mnemonic);

// Returns whether the operands of an instruction fit a form whose modifiers match. Accepts any label, because
// labels are resolved at the end of their block.
bool operands_fit(std::uint16_t form, const Mnemonic &mnemonic, std::span<const Operand> operands,
                  const Body &body);

}  // namespace cushim::ptx
