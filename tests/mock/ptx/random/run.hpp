// SPDX-License-Identifier: Apache-2.0
// Executes the kernels of a batch on the CPU.
#pragma once

#include "../execute.hpp"
#include "suite.hpp"

namespace cushim::ptx::random {

// The outputs of the kernels of a batch, one after the other; empty for a kernel that ended with a fault.
struct Outputs {
  std::vector<std::vector<std::byte>> kernels;
  std::string refused;  // message if the module was not accepted
};

inline Outputs run(const Batch &batch, const std::vector<std::vector<std::uint64_t>> &inputs) {
  Outputs made;
  const auto parsed = parse(batch.text);
  if (!parsed.ok()) return {{}, parsed.log()};
  testing::Arena memory;
  const SymbolAddresses addresses = testing::place(parsed.module, memory);
  std::vector<Diagnostic> diagnostics;
  const Program program = compile(parsed.module, addresses, diagnostics);
  for (const Diagnostic &one : diagnostics) made.refused += one.text() + "\n";
  if (!program) return made;
  for (std::size_t i = 0; i < batch.kernels.size(); ++i) {
    const Kernel &kernel = batch.kernels[i];
    const std::uint64_t from = memory.add(inputs[i % inputs.size()]), to = memory.add(kernel.memory_bytes);
    LaunchShape shape;
    shape.grid.x = kernel.grid;
    shape.block.x = kernel.block;
    const std::uint64_t pointers[] = {from, to};
    const LaunchResult result = ptx::run(program, kernel.name, shape, std::as_bytes(std::span(pointers)),
                                         memory, {.limits = {.workers = 1, .instructions = 100'000'000}});
    auto &out = made.kernels.emplace_back();
    if (!result) {
      made.refused += kernel.name + ": " + std::string{name(result.fault.kind)} + " in line " +
                      std::to_string(result.fault.line) + "\n";
      continue;
    }
    out.resize(kernel.outputs * kernel.output_bytes);
    std::memcpy(out.data(), memory.host(to), out.size());
  }
  return made;
}

}  // namespace cushim::ptx::random
