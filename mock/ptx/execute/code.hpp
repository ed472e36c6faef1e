// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/instruction_traits.hpp"
#include "cushim/ptx/execute.hpp"
#include "execute/cost.hpp"
#include "execute/matrix.hpp"
#include "execute/warp.hpp"

namespace cushim::ptx {
namespace execute {

// The location of a function's parameter or result in a frame, for all lanes.
struct Slot {
  std::uint32_t at = 0, bytes = 0;  // lane i begins at at + i * bytes
  bool is_register = false;         // `at` is a register's offset instead
};

struct InstructionSource {
  std::uint32_t line = 0, file = 0, source_line = 0;
  InstructionClass kind = InstructionClass::other;
  bool is_branch = false;
  InstructionTraits traits{};
};

struct FunctionCode {
  std::string name;
  bool is_entry = false, has_body = false;
  std::vector<Op> ops;
  std::vector<InstructionSource> sources;
  std::vector<std::byte> constants;  // the initial contents of each frame
  std::uint32_t frame_bytes = 0;
  std::uint64_t local_bytes = 0;
  bool calls = false;
  bool variadic = false;  // the last parameter is unsized
  std::vector<Slot> parameters, results;
  KernelInfo info;
  std::uint32_t static_shared = 0, static_shared_base = 0;
  Dim3 required_cluster;  // .reqnctapercluster; 1 block without it
  std::uint32_t index = 0;
  std::uint32_t first_instruction = 0;  // the number of the first instruction in Counts
};

// Returns the offset of a variadic function's arguments in its part of the local memory: after its variables.
inline std::uint64_t variadic_offset(std::uint64_t local_bytes) {
  return (local_bytes + 15) & ~std::uint64_t{15};
}

// The data of a call operation.
struct CallSite {
  const FunctionCode *callee = nullptr;  // nullptr: indirect call, Op::a holds the address
  std::vector<Slot> arguments, results;
  std::uint32_t builtin = 0;  // number of the driver's built-in function; 0: not built-in
};

// The memory that a counted operation accesses.
struct CountedAccess {
  enum class Space : std::uint8_t { global, shared, local, constant, generic };
  std::uint32_t instruction = 0;  // its number in Counts
  std::uint32_t bytes = 0;        // of a lane
  Space space = Space::generic;
  bool reads = false, writes = false;
  bool bypasses_l1 = false;  // true for .volatile and .cg
  bool is_wide = true;       // whether the addresses have 64 bits
  std::uint8_t rows = 0;     // of ldmatrix and stmatrix: the lanes that hold addresses; 0: all active lanes
};

struct BranchTable {
  std::vector<const Op *> targets;
  const Op *join = nullptr;
};

}  // namespace execute

struct Code {
  std::deque<execute::FunctionCode> functions;  // same indices as Module::functions
  std::unordered_map<std::string, const execute::FunctionCode *> kernels;
  std::unordered_map<std::uint32_t, std::string> files;
  std::deque<execute::CallSite> calls;
  std::deque<execute::BranchTable> tables;
  // By layout, matrix, shape, bits of an element, and number of registers.
  std::map<std::array<std::uint32_t, 7>, execute::Fragment> fragments;
  std::deque<std::vector<std::uint64_t>> words;  // further data of operations
  bool counts = false;                           // CompileOptions::counts
  std::uint32_t instructions = 0;                // of all functions
  std::deque<execute::CountedAccess> counted_accesses;
  std::vector<execute::InstructionCost> costs;  // by number; empty without CompileOptions::costs
};

}  // namespace cushim::ptx
