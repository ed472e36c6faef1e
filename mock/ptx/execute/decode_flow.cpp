// SPDX-License-Identifier: Apache-2.0
// Control flow: branches, calls and guards.
#include "execute/decode.hpp"
#include "execute/warpgroup.hpp"

namespace cushim::ptx::execute {

// Emits a branch to an instruction of the function, under the guard of the current instruction.
void FunctionDecoder::emit_branch(std::uint32_t target) {
  const bool conditional = instruction->guard != no_index;
  Op &op =
      emit(conditional ? execute::branch_if : execute::branch, conditional ? Flow::branch_if : Flow::branch);
  if (conditional) {
    op.guard = registers[instruction->guard];
    op.guard_negated = instruction->guard_negated;
  }
  targets.push_back({out.ops.size() - 1, target});
  guard_done = true;
}

void FunctionDecoder::decode_branch() { emit_branch(operand(0).index); }

void FunctionDecoder::decode_indexed() {
  if (instruction->guard != no_index) throw UnsupportedInstruction{"has a guard"};
  const std::uint32_t a = source(operand(0), 4);
  const Operand &list = operand(1);
  if (list.kind != OperandKind::branch_targets) throw UnsupportedInstruction{"has no list of targets"};
  Op &op = emit(execute::branch_indexed, Flow::indexed);
  op.a = a;
  table_targets.push_back({out.ops.size() - 1, function.body.branch_targets[list.index].instructions});
}

void FunctionDecoder::decode_return() {
  if (function.is_entry) return decode_exit();
  emit_branch(epilogue);
}

void FunctionDecoder::decode_exit() {
  const bool conditional = instruction->guard != no_index;
  Op &op = emit(exit_, conditional ? Flow::next : Flow::stop);
  if (conditional) {
    op.guard = registers[instruction->guard];
    op.guard_negated = instruction->guard_negated;
  }
  guard_done = true;
}

Slot FunctionDecoder::call_slot(const Operand &one, bool result) {
  if (one.kind == OperandKind::symbol || one.kind == OperandKind::address) {
    if (one.symbol_kind == SymbolKind::local) return locals[one.index];
    if (one.symbol_kind == SymbolKind::parameter) return out.parameters[one.index];
    if (one.symbol_kind == SymbolKind::result) return out.results[one.index];
  }
  if (one.kind == OperandKind::reg) {
    const unsigned bytes = width(register_type(one));
    if (bytes == 1) throw UnsupportedInstruction{"passes a predicate"};
    return {registers[one.index], bytes, true};
  }
  if (!result && one.kind == OperandKind::integer) return {constant(4, std::uint64_t(one.value)), 4, true};
  throw UnsupportedInstruction{"passes an operand that is not supported"};
}

void FunctionDecoder::decode_call() {
  CallSite &site = code.calls.emplace_back();
  const auto slots = [&](const Operand &list, std::vector<Slot> &to, bool result) {
    for (std::uint32_t i = 0; i < list.count; ++i) to.push_back(call_slot(element(list, i), result));
  };
  if (operand(0).kind == OperandKind::list) slots(operand(0), site.results, true);
  const Operand &target = operand(1);
  if (operand(2).kind == OperandKind::list) slots(operand(2), site.arguments, false);
  std::uint32_t pointer = 0;
  if (target.kind == OperandKind::symbol && target.symbol_kind == SymbolKind::function) {
    const Function &callee = module.functions[target.index];
    if (!callee.has_body) {
      site.builtin = builtin(callee.name);
      if (site.builtin == 0)
        throw UnsupportedInstruction{"calls '" + std::string{callee.name} + "', which has no body"};
    }
    site.callee = &code.functions[target.index];
  } else if (target.kind == OperandKind::reg) {
    pointer = source(target, 8);
  } else {
    throw UnsupportedInstruction{"has a target that is not supported"};
  }
  Op &op = emit(execute::call);
  op.a = pointer;
  op.data = &site;
  out.calls = out.calls || site.builtin == 0;
}

bool FunctionDecoder::is_transfer(Handler run) {
  return run == execute::barrier || run == execute::cluster_wait || run == execute::rendezvous ||
         run == multiply_warpgroup || run == execute::call || run == execute::branch_indexed;
}

void FunctionDecoder::guard(std::size_t begin) {
  if (instruction->guard == no_index || guard_done) return;
  std::uint32_t p = registers[instruction->guard];
  bool around = false, overwritten = false;
  for (std::size_t i = begin; i < out.ops.size(); ++i) {
    around |= is_transfer(out.ops[i].run);
    overwritten |= i + 1 < out.ops.size() && out.ops[i].d == p;
  }
  if (around) {
    Op op;
    op.run = execute::branch_if;
    op.guard = p;
    op.guard_negated = !instruction->guard_negated;
    op.source = instruction_index;
    out.ops.insert(out.ops.begin() + static_cast<std::ptrdiff_t>(begin), op);
    flow.insert(flow.begin() + static_cast<std::ptrdiff_t>(begin), Flow::branch_if);
    targets.push_back({begin, instruction_index + 1});
    return;
  }
  if (overwritten) {  // before the last operation: keep the value
    Op op;
    op.run = find("mov.pred")->run;
    op.a = p;
    op.d = p = allocate(1);
    op.source = instruction_index;
    out.ops.insert(out.ops.begin() + static_cast<std::ptrdiff_t>(begin), op);
    flow.insert(flow.begin() + static_cast<std::ptrdiff_t>(begin), Flow::next);
    ++begin;
  }
  for (std::size_t i = begin; i < out.ops.size(); ++i) {
    Op &op = out.ops[i];
    op.inner = op.run;
    op.run = execute::guarded;
    op.guard = p;
    op.guard_negated = instruction->guard_negated;
    if (flow[i] == Flow::stop) flow[i] = Flow::next;
  }
}

}  // namespace cushim::ptx::execute
