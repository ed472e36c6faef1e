// SPDX-License-Identifier: Apache-2.0
// Checks of a kernel while it runs: what run() looks for, and what it reports.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cushim/ptx/access.hpp"

namespace cushim::ptx {

// The extent of a grid, block or cluster, or an index in one.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  // Returns x * y * z.
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

// Where a thread of a kernel is.
struct ThreadPosition {
  std::string kernel;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  std::uint32_t line = 0;         // of the PTX text
  std::string source_file;        // of .loc; empty without line information
  std::uint32_t source_line = 0;  // of .loc; 0 without line information
};

// A state space that checks tell apart.
enum class MemorySpace : std::uint8_t { none, global, shared, local };

// Returns "global" and so on; empty for none.
std::string_view name(MemorySpace);

// The checks of a kernel.
enum class Check : std::uint8_t {
  memory,    // accesses beyond the end of memory, or misaligned
  races,     // accesses of two threads to the same bytes without order
  init,      // reads of memory that was never written
  barriers,  // barriers that not all threads reach
};
inline constexpr std::size_t check_count = 4;

// A defect of a kernel. Rules:
//   memory    out-of-bounds, misaligned
//   races     write-write, write-read (the read is the later access), read-write
//   init      uninitialized-read
//   barriers  exited-threads, different-instructions, never-completes, not-in-mask, different-masks
struct KernelFinding {
  // A thread, and its role in the finding.
  struct Act {
    std::string role;  // "written by", "waits"
    ThreadPosition at;
  };
  Check check = Check::memory;
  std::string_view rule;
  std::string what;       // one sentence, which follows "kernel NAME: "
  std::vector<Act> acts;  // in the order of their execution
  MemorySpace space = MemorySpace::none;
  Access access = Access::read;  // of the last element of `acts`
  std::uint64_t address = 0;     // without a space: none
  std::uint64_t bytes = 0;       // 0: not known
  std::uint64_t count = 1;       // occurrences with the same lines
};

// The checks of a launch. With any of them, one thread of the host executes all blocks.
struct Checks {
  std::array<bool, check_count> is_on{};
  std::function<void(const KernelFinding &)> report{};  // called when the kernel has ended
  bool operator[](Check one) const { return is_on[static_cast<std::size_t>(one)]; }
};

}  // namespace cushim::ptx
