// SPDX-License-Identifier: Apache-2.0
// Costs of instructions, which programs with CompileOptions::costs sum.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "cushim/ptx/costs.hpp"
#include "execute/warp.hpp"

namespace cushim::ptx::execute {

struct FunctionCode;

// The cost of an instruction, without that of its memory accesses.
struct InstructionCost {
  Pipe pipe = Pipe::issue;
  float slots = 1;            // machine instructions
  float pipe_cycles = 0;      // of a warp on the pipe of a multiprocessor
  std::uint32_t latency = 0;  // cycles until a dependent instruction can start; of loads: see access_latency
  std::uint32_t stall = 0;    // cycles until the warp's next instruction can start, beyond its slots
  std::uint32_t function = 0;
  bool is_barrier = false;
  bool is_load = false;     // waits for the stores before it, which may have the same address
  bool is_store = false;    // or an atomic
  bool ends_block = false;  // a branch or a barrier
  std::vector<std::uint32_t> sources{}, destinations{};  // registers
};

InstructionCost cost_of(const Module &, const Function &, const Instruction &);

// A point in time of a warp, if reads that miss the L1 cache also hit the L2 cache, and if they miss it.
struct Times {
  std::uint32_t in_l2 = 0, in_memory = 0;
};

// The schedule of a warp. Within a basic block an instruction waits for its operands only, as compilers order
// instructions; the next block begins when all instructions have been issued.
struct WarpCosts {
  Times now;                              // the begin of the basic block
  Times last;                             // the last issue in the block
  Times issued;                           // the issue of the last instruction
  Times stored;                           // the issue of the last store
  std::array<float, pipes> occupied{};    // cycles of each pipe in the block
  std::vector<std::vector<Times>> ready;  // by function and register

  void start(std::size_t functions);
  void issue(const InstructionCost &cost);
  // Delays the results of the last instruction, which occupies the memory pipe.
  void wait_for_memory(const InstructionCost &cost, std::uint32_t turns, std::uint32_t in_l2,
                       std::uint32_t in_memory);
  void end_block(std::uint32_t stall);
};

// The reads of a block that hit the L1 cache.
struct BlockCosts {
  std::unordered_set<std::uint64_t> sectors;

  // Returns whether the sector is in the cache. Adds it.
  bool touch(std::uint64_t sector, std::uint64_t most_sectors);
};

// The lowest and the highest address of an instruction.
struct Extent {
  std::uint64_t begin = ~0ull, end = 0;
  bool is_atomic = false;
};

}  // namespace cushim::ptx::execute
