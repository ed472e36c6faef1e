// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cushim/ptx/module.hpp"
#include "execute/literals.hpp"

namespace cushim::ptx::execute {

// An addition or subtraction that is computed as a fused multiplication and addition.
struct Contraction {
  std::uint32_t product = no_index;  // the instruction of the multiplication; no_index: none
  std::uint8_t operand = 0;          // of the sum that is the product: 1 or 2
  bool is_negated = false;           // the operand is the negated product
  bool is_factored = false;          // of a product: sums are contracted with it
  bool is_kept = false;              // of a product: its factors are written before these sums
};

// Returns, for each instruction of a function, whether ptxas 13.0 contracts it with a multiplication; empty
// if it contracts none.
std::vector<Contraction> contractions(const Module &, const Function &, Literals &);

}  // namespace cushim::ptx::execute
