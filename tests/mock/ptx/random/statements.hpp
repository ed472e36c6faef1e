// SPDX-License-Identifier: Apache-2.0
// The statements of random programs without control flow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "suite.hpp"

namespace cushim::ptx::random {

// The registers of one kind of values: %PREFIX0, %PREFIX1...
struct RegisterClass {
  std::string_view prefix, kind;
  std::size_t count;
};
inline constexpr RegisterClass register_classes[] = {{"h", "i16", 6},  {"e", "f16", 4},   {"g", "bf16", 3},
                                                     {"r", "i32", 10}, {"x", "f16x2", 6}, {"y", "bf16x2", 4},
                                                     {"f", "f32", 8},  {"l", "i64", 6},   {"v", "f64", 5}};
inline constexpr std::size_t predicates = 4;  // %p0...

// Returns %PREFIXn of a random register for values of this kind.
std::string any_register(std::string_view kind, Random &random);
std::string any_predicate(Random &random);

// A statement, and the registers that it writes, with their kinds.
struct Statement {
  std::string text;
  struct Written {
    std::string name, kind;
  };
  std::vector<Written> writes;
};

// Returns a statement that any subset of a warp may execute.
Statement any_statement(Random &random);
// Returns a statement that all threads of the block have to execute together.
Statement collective_statement(Random &random);

}  // namespace cushim::ptx::random
