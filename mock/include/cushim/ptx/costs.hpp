// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "cushim/ptx/execute.hpp"

// The input of a model of a kernel's time, from a sample of its blocks. A launch that is sampled runs most
// blocks by the program without counts, at full speed.
namespace cushim::ptx {

// Blocks of a launch that run by a program with costs, evenly spread over the grid.
struct Sample {
  Program program;             // of the same module, compiled with CompileOptions::costs
  std::uint64_t clusters = 8;  // at most
  std::uint64_t l1_bytes = 0;  // of the cache of a multiprocessor that each block may fill
  bool runs_alone = false;     // whether the other blocks do not run at all
};

// A unit of a multiprocessor that instructions occupy.
enum class Pipe : std::uint8_t { issue, fma, alu, f64, special, memory, matrix, barrier };
inline constexpr std::size_t pipes = 8;

// Sums over the sampled blocks. Cycles are those of a multiprocessor of compute capability 9.0.
struct SampledCosts {
  std::uint64_t blocks = 0;  // sampled ones
  std::uint64_t warps = 0;   // of them
  // Cycles for which the blocks occupy each unit of a multiprocessor.
  std::array<double, pipes> pipe_cycles{};
  // The longest path of a warp of each block, in cycles: each instruction waits for its operands. Reads that
  // miss the L1 cache wait for the L2 cache, or for memory.
  double path_in_l2 = 0, path_in_memory = 0;
  // Sectors of 32 bytes between multiprocessors and the L2 cache.
  std::uint64_t read_sectors = 0, written_sectors = 0;
  std::uint64_t read_bursts = 0;  // of 64 bytes that contain the read sectors
  double atomic_cycles = 0;       // that atomics of global memory occupy a part of the L2 cache
  // Bytes between the lowest and the highest address of each instruction, overlaps counted once: of reads,
  // writes and atomics of global memory.
  std::uint64_t extent = 0, atomic_extent = 0;
  std::uint64_t barriers = 0;  // executions by warps

  SampledCosts &operator+=(const SampledCosts &other);  // of all members but the extents
};

}  // namespace cushim::ptx
