// SPDX-License-Identifier: Apache-2.0
// Kernels whose results are compared with those of a GPU: tables of instructions and random programs.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "values.hpp"

namespace cushim::ptx::random {

inline constexpr std::string_view header = ".version 9.0\n.target sm_90a\n.address_size 64\n";

// One instruction with its operands, as a statement block of PTX on a single line.
struct Form {
  std::string body;                 // reads %a, %b, %c, %e, or the predicates %pa...; writes %d
  std::vector<std::string> inputs;  // kinds of %a, %b, %c, %e
  std::string result = "i32";       // kind of %d
};

// Returns each form of forms.inc that works on registers, for the targets up to sm_90a, and forms of moves,
// loads, stores and atomics. Some are not valid PTX.
std::vector<Form> forms();

// A kernel, and its results: `outputs` areas of `output_bytes` bytes at the beginning of the memory at `out`,
// which has `memory_bytes` bytes that are 0.
struct Kernel {
  std::string name;
  std::uint32_t grid = 1, block = 32;
  std::size_t outputs = 1, output_bytes = 0, memory_bytes = 0;
};

// A module of kernels with the parameters (.u64 in, .u64 out).
struct Batch {
  std::string text;
  std::vector<Kernel> kernels;
};

// At least the memory_bytes of any kernel.
inline constexpr std::size_t buffer_bytes = std::size_t{3} << 20;

// Returns a module of the given forms, each with an output of its own.
Batch table(std::span<const Form> forms);

// Random programs have `program_threads` threads in two blocks. Each reads `program_inputs` words of 8 bytes
// and writes its registers to `program_outputs` words.
inline constexpr std::size_t program_threads = 128, program_inputs = 64, program_outputs = 64;
std::vector<std::uint64_t> program_inputs_of(std::uint64_t seed);
// Returns the kernel with this seed. With `traced`, each thread writes all results of instructions too:
// pairs of the position of the instruction in the program and its result, at most `trace_length`, after
// a first pair that holds their number.
inline constexpr std::size_t trace_length = 1024;
Batch program(std::uint64_t seed, bool traced = false);
// Returns where the traces begin in the output.
std::size_t trace_offset();
// Returns the kernels of several seeds in a row as one module.
Batch programs(std::uint64_t first, std::size_t count);

// Returns the hash of an output, never 0.
inline std::uint32_t hash(const std::byte *bytes, std::size_t count) {
  std::uint64_t sum = 14695981039346656037u;
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 29;
  }
  const auto folded = static_cast<std::uint32_t>(sum >> 32 ^ sum);
  return folded == 0 ? 1 : folded;
}

}  // namespace cushim::ptx::random
