// SPDX-License-Identifier: Apache-2.0
// The statements of random programs without control flow.
#pragma once

#include <initializer_list>
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
// The threads of a block. The shared variables of a program: `scratch` has 16 bytes for each, `exchanged` has
// 8, `gate` is an mbarrier object.
inline constexpr std::size_t block_threads = 64;

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
// Returns a copy from the inputs to the thread's shared memory, and a load of it.
Statement asynchronous_copy(Random &random);
// Returns a statement that all threads of a warp have to execute together.
Statement warp_statement(Random &random);
// Returns a statement that all threads of the block have to execute together; `in_cluster`: that all threads
// of a cluster of two blocks have to.
Statement collective_statement(Random &random, bool in_cluster);
// Returns an exchange through an mbarrier object, or with the other block of the cluster.
Statement barrier_exchange(Random &random);
Statement cluster_exchange(Random &random);

// Returns a statement of one of these kinds.
struct WeightedKind {
  std::size_t weight;
  Statement (*make)(Random &);
};
Statement one_of(Random &random, std::initializer_list<WeightedKind> kinds);

bool contains(std::string_view text, std::string_view part);
std::string decimal(std::uint64_t value);
bool is_float(std::string_view kind);
// Returns the parts in a row. A compiler evaluates the elements of the list in order, but the operands of `+`
// in any: random parts are therefore joined by this function.
std::string joined(std::initializer_list<std::string_view> parts);
// Returns instructions that replace NaNs of a register by one NaN.
std::string one_nan(const std::string &name, std::string_view kind);

}  // namespace cushim::ptx::random
