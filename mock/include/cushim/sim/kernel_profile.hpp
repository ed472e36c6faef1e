// SPDX-License-Identifier: Apache-2.0
// Counts of the kernels of a program, instruction by instruction. docs/guide/kernel_profile.md describes the
// counts.
#pragma once

#include <cushim/ptx/counts.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace cushim::sim {

// The launches of one kernel.
struct KernelProfile {
  // An instruction of the kernel, or of a function that it called.
  struct Instruction {
    std::string function;
    std::uint32_t line = 0;  // of `text`
    ptx::InstructionClass kind = ptx::InstructionClass::other;
    bool is_branch = false;
    std::string source_file;        // of .loc; empty without line information
    std::uint32_t source_line = 0;  // of .loc; 0 without line information
    ptx::InstructionCounts counts;
  };

  std::string kernel;
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0, threads = 0;    // of all launches
  std::shared_ptr<const std::string> text;  // the PTX; null if a registered function ran instead
  std::vector<Instruction> instructions;    // in the order of the text
};

// The sums over all instructions of a kernel.
struct KernelTotals {
  std::uint64_t warp_instructions = 0;
  std::uint64_t active_lanes = 0;                                  // summed over the warp instructions
  std::uint64_t thread_instructions = 0;                           // lanes whose guard holds
  std::array<std::uint64_t, ptx::instruction_classes> by_class{};  // of the thread instructions
  std::uint64_t branches = 0, divergent_branches = 0;              // executions by warps
  std::uint64_t barriers = 0;                                      // executions by warps
  std::array<ptx::AccessCounts, ptx::counted_spaces> spaces{};
};
KernelTotals totals(const KernelProfile &profile);

// Writes the totals of each kernel and the lines with the most avoidable transactions. Each line begins with
// `prefix`.
void write_summary(const std::vector<KernelProfile> &profiles, std::ostream &to,
                   const std::string &prefix = {});
// Writes one JSON object with all counts.
void write_json(const std::vector<KernelProfile> &profiles, const std::string &program, std::ostream &to);
// Writes one page of HTML that needs nothing else: the PTX of each kernel with the counts of each line.
void write_html(const std::vector<KernelProfile> &profiles, const std::string &program, std::ostream &to);

}  // namespace cushim::sim
