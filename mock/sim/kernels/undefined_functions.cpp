// SPDX-License-Identifier: Apache-2.0
// Functions that code uses and does not define.
#include <algorithm>

#include "kernels/module.hpp"

namespace cushim::sim {

namespace {

bool is_unresolved(const ptx::Function &function) {
  return !function.has_body && function.linkage == ptx::Linkage::external && !ptx::implements(function.name);
}

}  // namespace

std::vector<std::string> undefined_functions(const ptx::Module &module) {
  std::vector<std::string> names;
  for (const ptx::Function &user : module.functions)
    for (const ptx::Operand &operand : user.body.operands) {
      if (operand.kind != ptx::OperandKind::symbol || operand.symbol_kind != ptx::SymbolKind::function)
        continue;
      const ptx::Function &used = module.functions[operand.index];
      if (is_unresolved(used) && std::ranges::find(names, used.name) == names.end())
        names.emplace_back(used.name);
    }
  return names;
}

std::vector<std::string> reachable_undefined_functions(const ptx::Module &module) {
  std::vector<const ptx::Function *> reached;
  const auto reach = [&](const ptx::Function &function) {
    if (std::ranges::find(reached, &function) == reached.end()) reached.push_back(&function);
  };
  for (const ptx::Function &function : module.functions)
    if (function.is_entry) reach(function);
  for (const ptx::Variable &variable : module.variables)
    for (const ptx::Relocation &relocation : variable.relocations)
      if (relocation.symbol.kind == ptx::SymbolKind::function)
        reach(module.functions[relocation.symbol.index]);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const ptx::Function &user = *reached[i];
    if (is_unresolved(user)) names.emplace_back(user.name);
    for (const ptx::Operand &operand : user.body.operands)
      if (operand.kind == ptx::OperandKind::symbol && operand.symbol_kind == ptx::SymbolKind::function)
        reach(module.functions[operand.index]);
  }
  return names;
}

LoadError check_complete(const Code &code) {
  const auto missing = undefined_functions(code.module);
  if (missing.empty()) return {};
  return {CUDA_ERROR_INVALID_PTX, "ptxas fatal   : Unresolved extern function '" + missing.front() + "'"};
}

}  // namespace cushim::sim
