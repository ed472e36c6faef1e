// SPDX-License-Identifier: Apache-2.0
// Costs of instructions. PTX is not what a GPU executes: a cost is that of the machine instructions that the
// driver's compiler usually makes of a PTX instruction. Latencies and rates are those of compute capability
// 9.0; docs/guide/kernel_time.md tells how they were fitted.
#include "execute/cost.hpp"

#include <algorithm>

#include "execute/count.hpp"

namespace cushim::ptx::execute {
namespace {

// Cycles of a multiprocessor for a warp, by lanes per cycle.
constexpr float all_lanes = 0.25F, half_rate = 0.5F, sixteen_lanes = 2;

constexpr std::uint32_t branch_stall = 8, barrier_stall = 10;

InstructionCost arithmetic(Pipe pipe, float slots, float pipe_cycles, std::uint32_t latency) {
  return {.pipe = pipe, .slots = slots, .pipe_cycles = pipe_cycles, .latency = latency};
}

InstructionCost integer_cost(const Mnemonic &name) {
  const bool is_wide = bits(name.type(name.types.empty() ? 0 : name.types.size() - 1)) == 64;
  switch (name.opcode) {
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::mul24:
    case Opcode::mad24:
    case Opcode::dp4a:
    case Opcode::dp2a:
      if (is_wide) return arithmetic(Pipe::fma, 4, 2, 12);
      return arithmetic(Pipe::fma, 1, name.has(Modifier::wide) ? 1 : half_rate, 4);
    case Opcode::div:
    case Opcode::rem:
      return is_wide ? arithmetic(Pipe::alu, 90, 45, 360) : arithmetic(Pipe::alu, 20, 10, 100);
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::brev:
    case Opcode::bfind:
    case Opcode::fns:
      return arithmetic(Pipe::special, 1, sixteen_lanes, 14);
    case Opcode::add:
    case Opcode::sub:  // by either of two pipes
      return is_wide ? arithmetic(Pipe::fma, 2, half_rate, 2) : arithmetic(Pipe::fma, 1, all_lanes, 4);
    default:
      return is_wide ? arithmetic(Pipe::alu, 2, 1, 6) : arithmetic(Pipe::alu, 1, half_rate, 4);
  }
}

InstructionCost special_cost(const Mnemonic &name) {
  if (!name.has(Modifier::approx) && name.opcode != Opcode::tanh)
    return arithmetic(Pipe::special, 9, sixteen_lanes, 50);  // rounded as IEEE 754 requires
  // Without .ftz, instructions before and after it scale subnormal numbers.
  if (!name.has(Modifier::ftz) && name.opcode != Opcode::sin && name.opcode != Opcode::cos &&
      name.opcode != Opcode::tanh)
    return arithmetic(Pipe::special, 4, sixteen_lanes, 36);
  const bool has_scaling = name.opcode == Opcode::sin || name.opcode == Opcode::cos ||
                           name.opcode == Opcode::div || name.opcode == Opcode::ex2;
  return arithmetic(Pipe::special, has_scaling ? 2 : 1, sixteen_lanes, has_scaling ? 36 : 24);
}

InstructionCost conversion_cost(const Mnemonic &name) {
  if (name.opcode == Opcode::cvta) return arithmetic(Pipe::issue, 0, 0, 0);
  const auto is_floating = [](Type type) { return type_class(type) == TypeClass::floating; };
  const bool to_floating = is_floating(name.type(0)), from_floating = is_floating(name.type(1));
  if (!to_floating && !from_floating) return arithmetic(Pipe::alu, 0.5F, all_lanes, 2);
  return arithmetic(Pipe::special, 1, sixteen_lanes, 14);
}

InstructionCost cost_without_registers(const Mnemonic &name) {
  using Class = InstructionClass;
  switch (class_of(name)) {
    case Class::integer:
      return integer_cost(name);
    case Class::f32:
    case Class::half:
      if (name.opcode == Opcode::min || name.opcode == Opcode::max)
        return arithmetic(Pipe::alu, 1, half_rate, 4);
      return arithmetic(Pipe::fma, 1, all_lanes, 4);
    case Class::f64:
      if (name.opcode == Opcode::div || name.opcode == Opcode::rcp || name.opcode == Opcode::sqrt ||
          name.opcode == Opcode::rsqrt)
        return arithmetic(Pipe::f64, 14, 7, 120);
      return arithmetic(Pipe::f64, 1, half_rate, 8);
    case Class::special:
      return special_cost(name);
    case Class::conversion:
      return conversion_cost(name);
    case Class::move:
      if (name.opcode == Opcode::selp) return arithmetic(Pipe::alu, 1, half_rate, 4);
      return arithmetic(Pipe::issue, 0, 0, 0);  // the compiler removes it
    case Class::parameter:
      return arithmetic(Pipe::issue, 0, 0, 0);  // an operand in constant memory
    case Class::compare:
      return arithmetic(Pipe::alu, 1, half_rate, 5);
    case Class::control:
      return {.slots = 1, .stall = branch_stall, .ends_block = true};
    case Class::load:
      return {.pipe = Pipe::memory, .slots = 1, .is_load = true};
    case Class::store:
    case Class::atomic:
    case Class::copy:
      return {.pipe = Pipe::memory, .slots = 1, .is_store = true};
    case Class::barrier:
      return {.pipe = Pipe::barrier,
              .slots = 1,
              .pipe_cycles = 2.125F,
              .stall = barrier_stall,
              .is_barrier = true,
              .ends_block = true};
    case Class::warp:
      return arithmetic(Pipe::memory, 1, 1, 23);
    case Class::matrix:
      return arithmetic(Pipe::matrix, 1, 2, 33);
    case Class::texture:
      return arithmetic(Pipe::memory, 1, 4, 400);
    case Class::other:
      return {};
  }
  return {};
}

bool has_destination(const Mnemonic &name) {
  switch (name.opcode) {
    case Opcode::st:
    case Opcode::red:
    case Opcode::bra:
    case Opcode::brx:
    case Opcode::call:
    case Opcode::ret:
    case Opcode::exit:
    case Opcode::bar:
    case Opcode::barrier:
    case Opcode::membar:
    case Opcode::fence:
    case Opcode::cp:
    case Opcode::prefetch:
    case Opcode::mbarrier:
    case Opcode::sust:
    case Opcode::sured:
    case Opcode::stmatrix:
      return false;
    default:
      return true;
  }
}

void add_registers(const Function &function, const Operand &operand, std::vector<std::uint32_t> &to) {
  switch (operand.kind) {
    case OperandKind::reg:
      to.push_back(operand.index);
      return;
    case OperandKind::address:
      if (operand.base == Base::reg) to.push_back(operand.index);
      return;
    case OperandKind::element:
    case OperandKind::pair:
      for (std::uint32_t i = 0; i < 2; ++i)
        add_registers(function, function.body.operands[operand.index + i], to);
      return;
    case OperandKind::bracket:
    case OperandKind::vector:
    case OperandKind::list:
      for (std::uint32_t i = 0; i < operand.count; ++i)
        add_registers(function, function.body.operands[operand.index + i], to);
      return;
    default:
      return;
  }
}

}  // namespace

InstructionCost cost_of(const Module &module, const Function &function, const Instruction &instruction) {
  const Mnemonic &name = module.mnemonics[instruction.mnemonic];
  InstructionCost cost = cost_without_registers(name);
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
    const Operand &operand = function.body.operands[instruction.first_operand + i];
    const bool is_destination = i == 0 && has_destination(name);
    add_registers(function, operand, is_destination ? cost.destinations : cost.sources);
    // A special register takes an instruction, unless it is the same for the block.
    if (operand.kind == OperandKind::special && name.opcode == Opcode::mov) {
      cost.slots = 1;
      cost.latency = 20;
    }
  }
  // A branch is issued last in any case; the compiler computes its guard early.
  if (instruction.guard != no_index && !cost.ends_block) cost.sources.push_back(instruction.guard);
  return cost;
}

void WarpCosts::start(std::size_t functions) {
  now = last = issued = stored = {};
  occupied = {};
  ready.resize(functions);
  for (std::vector<Times> &registers : ready) std::ranges::fill(registers, Times{});
}

void WarpCosts::issue(const InstructionCost &cost) {
  std::vector<Times> &registers = ready[cost.function];
  std::uint32_t most = 0;
  for (const std::uint32_t one : cost.sources) most = std::max(most, one + 1);
  for (const std::uint32_t one : cost.destinations) most = std::max(most, one + 1);
  if (registers.size() < most) registers.resize(most);
  issued = now;
  for (const std::uint32_t one : cost.sources) {
    issued.in_l2 = std::max(issued.in_l2, registers[one].in_l2);
    issued.in_memory = std::max(issued.in_memory, registers[one].in_memory);
  }
  if (cost.is_load) {
    issued.in_l2 = std::max(issued.in_l2, stored.in_l2);
    issued.in_memory = std::max(issued.in_memory, stored.in_memory);
  }
  if (cost.is_store) stored = issued;
  for (const std::uint32_t one : cost.destinations)
    registers[one] = {issued.in_l2 + cost.latency, issued.in_memory + cost.latency};
  if (cost.slots == 0) return;  // not an instruction of the machine: nothing waits for its operands
  last.in_l2 = std::max(last.in_l2, issued.in_l2);
  last.in_memory = std::max(last.in_memory, issued.in_memory);
  occupied[static_cast<std::size_t>(Pipe::issue)] += cost.slots;
  // A warp has one of the four parts of a multiprocessor.
  occupied[static_cast<std::size_t>(cost.pipe)] += 4 * cost.pipe_cycles;
  if (cost.ends_block) end_block(cost.stall);
}

void WarpCosts::end_block(std::uint32_t stall) {
  const auto busy = static_cast<std::uint32_t>(*std::ranges::max_element(occupied));
  now = {std::max(last.in_l2 + 1, now.in_l2 + busy) + stall,
         std::max(last.in_memory + 1, now.in_memory + busy) + stall};
  last = now;
  occupied = {};
}

void WarpCosts::wait_for_memory(const InstructionCost &cost, std::uint32_t turns, std::uint32_t in_l2,
                                std::uint32_t in_memory) {
  std::vector<Times> &registers = ready[cost.function];
  // A warp alone takes a pass in two cycles.
  occupied[static_cast<std::size_t>(Pipe::memory)] += 2 * static_cast<float>(turns);
  for (const std::uint32_t one : cost.destinations) {
    registers[one].in_l2 = std::max(registers[one].in_l2, issued.in_l2 + turns + in_l2);
    registers[one].in_memory = std::max(registers[one].in_memory, issued.in_memory + turns + in_memory);
  }
}

bool BlockCosts::touch(std::uint64_t sector, std::uint64_t most_sectors) {
  if (!sectors.insert(sector).second) return true;
  if (sectors.size() > most_sectors) sectors = {sector};
  return false;
}

}  // namespace cushim::ptx::execute
