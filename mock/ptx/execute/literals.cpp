// SPDX-License-Identifier: Apache-2.0
// Measured with ptxas 13.0: the machine code of each instruction on constants.
#include "execute/literals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "execute/body_walk.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {
namespace {

float flushed(float value, bool flush) {
  return flush && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

// Returns a NaN for a function that ptxas leaves to the GPU.
float approximated(Opcode opcode, float a, float b, bool flush) {
  const auto rounded = [flush](double value) { return flushed(static_cast<float>(value), flush); };
  const double x = a;
  switch (opcode) {
    case Opcode::rcp:
      return rounded(1 / x);
    case Opcode::rsqrt:
      return rounded(1 / std::sqrt(x));
    case Opcode::sqrt:
      return rounded(std::sqrt(x));
    case Opcode::sin:
      return rounded(std::sin(x));
    case Opcode::cos:
      return rounded(std::cos(x));
    case Opcode::lg2:
      return rounded(std::log2(x));
    case Opcode::ex2:
      return rounded(std::exp2(x));
    case Opcode::div:
      return rounded(x * rounded(1 / double{b}));
    default:
      return NAN;
  }
}

std::optional<std::uint32_t> bits_unless_nan(float value) {
  if (std::isnan(value)) return {};
  return std::bit_cast<std::uint32_t>(value);
}

}  // namespace

Literals::Literals(const Module &module, const Function &function) : module_(module), function_(function) {}

void Literals::find_writes() {
  const Body &body = function_.body;
  registers_.resize(body.registers.size());
  for (const auto *const list : {&function_.parameter_registers, &function_.result_registers})
    for (const std::uint32_t index : *list)
      if (index < registers_.size()) registers_[index].writes = 2;
  for (std::uint32_t i = 0; i < body.instructions.size(); ++i)
    each_write(body, body.instructions[i], [&](std::uint32_t r) {
      ++registers_[r].writes;
      registers_[r].instruction = i;
    });
}

std::optional<std::uint32_t> Literals::of(const Operand &one, bool is_f32) {
  switch (one.kind) {
    case OperandKind::integer:
      if (is_f32) return std::bit_cast<std::uint32_t>(static_cast<float>(one.value));
      return static_cast<std::uint32_t>(one.value);
    case OperandKind::f32:
      return static_cast<std::uint32_t>(one.value);
    case OperandKind::f64:
      return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(one.value)));
    case OperandKind::reg:
      break;
    default:
      return {};
  }
  if (one.negated || one.has_component) return {};
  if (registers_.empty()) find_writes();
  Register &found = registers_[one.index];
  if (found.writes != 1 || found.state == State::in_progress) return {};
  if (found.state == State::unknown) {
    found.state = State::in_progress;
    found.bits = result_of(function_.body.instructions[found.instruction]);
    found.state = State::known;
  }
  return found.bits;
}

std::optional<float> Literals::number(const Instruction &one, std::size_t index) {
  const std::optional<std::uint32_t> bits = of(function_.body.operands[one.first_operand + index], true);
  if (!bits) return {};
  return flushed(std::bit_cast<float>(*bits), module_.mnemonics[one.mnemonic].has(Modifier::ftz));
}

std::optional<std::uint32_t> Literals::result_of(const Instruction &one) {
  const Body &body = function_.body;
  const Operand *const operands = &body.operands[one.first_operand];
  const Mnemonic &name = module_.mnemonics[one.mnemonic];
  if (one.guard != no_index || operands[0].kind != OperandKind::reg || operands[0].has_component) return {};
  if (width(body.registers[operands[0].index].type) != 4) return {};
  if (one.opcode == Opcode::mov) return one.operand_count == 2 ? of(operands[1]) : std::nullopt;
  if (name.types.size() != 1 || name.type() != Type::f32) return {};
  if (const auto bits = approximation(one)) return bits;
  for (const Modifier other : {Modifier::rz, Modifier::rm, Modifier::rp})
    if (name.has(other)) return {};
  const auto result = [&](float value) {
    value = flushed(value, name.has(Modifier::ftz));
    return bits_unless_nan(name.has(Modifier::sat) ? std::clamp(value, 0.0f, 1.0f) : value);
  };
  const auto a = one.operand_count > 1 ? number(one, 1) : std::nullopt;
  if (!a) return {};
  if (one.operand_count == 2) {
    if (one.opcode == Opcode::neg) return result(-*a);
    if (one.opcode == Opcode::abs) return result(std::fabs(*a));
  }
  const auto b = one.operand_count == 3 ? number(one, 2) : std::nullopt;
  if (!b) return {};
  switch (one.opcode) {
    case Opcode::add:
      return result(*a + *b);
    case Opcode::sub:
      return result(*a - *b);
    case Opcode::mul:
      return result(*a * *b);
    default:
      return {};
  }
}

std::optional<std::uint32_t> Literals::approximation(const Instruction &one) {
  const Mnemonic &name = module_.mnemonics[one.mnemonic];
  if (!name.has(Modifier::approx) && !name.has(Modifier::full)) return {};
  if (name.type() != Type::f32 || name.types.size() != 1) return {};
  const std::optional<float> a = number(one, 1),
                             b = one.opcode == Opcode::div ? number(one, 2) : std::optional(0.0f);
  if (!a || !b) return {};
  return bits_unless_nan(approximated(one.opcode, *a, *b, name.has(Modifier::ftz)));
}

}  // namespace cushim::ptx::execute
