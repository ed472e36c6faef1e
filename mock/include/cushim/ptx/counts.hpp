// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Counts of a program that was compiled with CompileOptions::counts: what its instructions did.
namespace cushim::ptx {

class Program;

// The kind of work of an instruction.
enum class InstructionClass : std::uint8_t {
  integer,     // arithmetic, logic and shifts of integers and predicates
  f32,         // add, mul, fma, min, ... of f32
  f64,         // the same of f64
  half,        // the same of f16 and bf16, and pairs of them
  special,     // sin, cos, ex2, lg2, tanh, rcp, rsqrt, sqrt and div of f32
  conversion,  // cvt, cvta
  move,        // mov, selp
  compare,     // setp, set, testp, slct
  control,     // bra, brx, call, ret, exit, trap
  parameter,   // ld.param, st.param
  load,
  store,
  atomic,
  copy,     // cp.async, cp.async.bulk, prefetch
  barrier,  // bar, barrier, mbarrier, membar, fence
  warp,     // shfl, vote, match, redux, elect
  matrix,   // mma, wmma, wgmma, ldmatrix, stmatrix, movmatrix
  texture,  // tex, tld4, suld, sust, sured
  other
};
inline constexpr std::size_t instruction_classes = static_cast<std::size_t>(InstructionClass::other) + 1;
std::string_view name(InstructionClass);

// A space that accesses are counted for.
enum class CountedSpace : std::uint8_t { global, shared, local, constant };
inline constexpr std::size_t counted_spaces = 4;
std::string_view name(CountedSpace);

// The accesses of warps to one space.
struct AccessCounts {
  std::uint64_t requests = 0;                       // executions with at least one lane in this space
  std::uint64_t lanes = 0;                          // lanes of the requests
  std::uint64_t read_bytes = 0, written_bytes = 0;  // of all lanes; an atomic reads and writes
  // Transactions that the requests need. global, local: sectors of 32 bytes. shared: passes over the 32 banks
  // of 4 bytes. constant: distinct addresses.
  std::uint64_t transactions = 0;
  // The fewest transactions for the same bytes. global: sectors that the distinct bytes fill. shared: passes
  // of 128 bytes a full warp needs, one for each lane group. constant: one a request.
  std::uint64_t ideal = 0;
  // Atomics only: lanes that use an address that another lane of the request uses too.
  std::uint64_t collisions = 0;

  AccessCounts &operator+=(const AccessCounts &other);
};

// The counts of one instruction in one launch.
struct InstructionCounts {
  std::uint64_t executions = 0;  // by warps
  std::uint64_t active_lanes = 0;
  std::uint64_t guarded_lanes = 0;  // active lanes for which the guard holds; all of them without a guard
  std::uint64_t divergent = 0;      // executions of a branch whose lanes went different ways
  std::array<AccessCounts, counted_spaces> spaces{};

  AccessCounts &operator[](CountedSpace space) { return spaces[static_cast<std::size_t>(space)]; }
  const AccessCounts &operator[](CountedSpace space) const { return spaces[static_cast<std::size_t>(space)]; }
  InstructionCounts &operator+=(const InstructionCounts &other);
};

// The counts of one launch, by the numbers that instructions() gives.
using Counts = std::vector<InstructionCounts>;

// An instruction of a program.
struct InstructionInfo {
  std::uint32_t function = 0;  // index in Module::functions
  std::uint32_t line = 0;      // of the PTX text
  InstructionClass kind = InstructionClass::other;
  bool is_branch = false;         // bra or brx
  std::string source_file{};      // of .loc; empty without line information
  std::uint32_t source_line = 0;  // of .loc; 0 without line information
};

// Returns the instructions of all functions, in the order of the text.
std::vector<InstructionInfo> instructions(const Program &);

}  // namespace cushim::ptx
