// SPDX-License-Identifier: Apache-2.0
// The size of the static shared memory of kernels.
#include <algorithm>
#include <set>
#include <vector>

#include "parser.hpp"

namespace cushim::ptx {
namespace {

// The functions and the shared variables at module scope that a kernel names, itself or through functions.
struct Named {
  std::set<std::uint32_t> functions, variables;
};

Named named_by(const Module &module, const Function &kernel) {
  Named all;
  std::vector<const Body *> rest{&kernel.body};
  while (!rest.empty()) {
    const Body &body = *rest.back();
    rest.pop_back();
    for (const Operand &one : body.operands) {
      if (one.kind != OperandKind::symbol && one.kind != OperandKind::address) continue;
      if (one.symbol_kind == SymbolKind::variable && module.variables[one.index].space == StateSpace::shared)
        all.variables.insert(one.index);
      if (one.symbol_kind == SymbolKind::function && all.functions.insert(one.index).second)
        rest.push_back(&module.functions[one.index].body);
    }
  }
  return all;
}

std::uint64_t round_up(std::uint64_t size, std::uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

// As ptxas 13.0 does, and an H200 reports: the variables of the kernel, used or not, the ones at module scope
// that it uses, and those of functions. A dynamic variable in the module, used or not, aligns the size.
void count_shared(Module &module) {
  std::uint64_t of_dynamic = 1;
  for (const Variable &one : module.variables)
    if (one.space == StateSpace::shared && one.unsized)
      of_dynamic = std::max<std::uint64_t>({of_dynamic, one.alignment, 16});
  for (Function &kernel : module.functions) {
    if (!kernel.is_entry) continue;
    const Named named = named_by(module, kernel);
    std::uint64_t size = kernel.body.shared_size;
    for (const std::uint32_t index : named.variables)
      size = round_up(size, module.variables[index].alignment) + module.variables[index].size;
    for (const std::uint32_t index : named.functions) {
      const Body &body = module.functions[index].body;
      if (body.shared_size != 0) size = round_up(size, body.shared_alignment) + body.shared_size;
    }
    kernel.body.shared_size = round_up(size, of_dynamic);
  }
}

}  // namespace cushim::ptx
