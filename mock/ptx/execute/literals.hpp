// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cushim/ptx/module.hpp"

namespace cushim::ptx::execute {

// The constants of 32 bits that ptxas 13.0 finds in a function. A register is constant if one instruction
// writes it, without a guard, and that is a mov of a constant, or an instruction on f32 whose operands are
// constant: add, sub and mul rounded to nearest, neg, abs, or an approximation. An approximation of
// constants has the value of the function, rounded to nearest.
class Literals {
 public:
  // Refers to the module and the function.
  Literals(const Module &, const Function &);
  // Returns the bits of an operand that is constant. `is_f32`: an integer stands for a float.
  std::optional<std::uint32_t> of(const Operand &one, bool is_f32 = false);
  // Returns the bits of the result of an approximation of constants. Empty for other instructions, and for a
  // NaN.
  std::optional<std::uint32_t> approximation(const Instruction &one);

 private:
  enum class State : std::uint8_t { unknown, in_progress, known };
  struct Register {
    std::uint32_t writes = 0, instruction = no_index;  // the last one that writes it
    State state = State::unknown;
    std::optional<std::uint32_t> bits;
  };

  void find_writes();
  std::optional<std::uint32_t> result_of(const Instruction &one);
  std::optional<float> number(const Instruction &one, std::size_t index);

  const Module &module_;
  const Function &function_;
  std::vector<Register> registers_;  // once a register was asked for
};

}  // namespace cushim::ptx::execute
