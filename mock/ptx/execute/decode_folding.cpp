// SPDX-License-Identifier: Apache-2.0
// Approximations of constants, which ptxas computes. Measured with ptxas 13.0 on literals.
#include <cmath>

#include "execute/decode.hpp"

namespace cushim::ptx::execute {
namespace {

float number(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float flushed(float value, bool flush) {
  return flush && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

// Returns a NaN for a function that ptxas leaves to the GPU.
float folded(Opcode opcode, float a, float b, bool flush) {
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

}  // namespace

std::optional<std::uint32_t> FunctionDecoder::literal(const Operand &one) {
  const auto bits_of = [this](const Operand &of) -> std::optional<std::uint32_t> {
    if (of.kind != OperandKind::integer && of.kind != OperandKind::f32 && of.kind != OperandKind::f64)
      return {};
    return static_cast<std::uint32_t>(immediate(of, 4, {}));
  };
  if (one.kind != OperandKind::reg || one.negated) return bits_of(one);
  const Body &body = function.body;
  if (literals.empty()) {
    std::vector<unsigned> writes(body.registers.size());
    literals.resize(body.registers.size());
    for (const auto *const list : {&function.parameter_registers, &function.result_registers})
      for (const std::uint32_t index : *list)
        if (index < writes.size()) writes[index] = 2;
    const auto count = [&](const auto &self, const Operand &to) -> void {
      if (to.kind == OperandKind::reg) ++writes[to.index];
      const bool has_elements = to.kind == OperandKind::vector || to.kind == OperandKind::list;
      const std::uint32_t elements = to.kind == OperandKind::pair ? 2 : has_elements ? to.count : 0;
      for (std::uint32_t i = 0; i < elements; ++i) self(self, element(to, i));
    };
    for (const Instruction &each : body.instructions) {
      if (each.operand_count == 0) continue;
      const Operand *const operands = &body.operands[each.first_operand];
      count(count, operands[0]);
      const bool sets_literal = each.opcode == Opcode::mov && each.guard == no_index &&
                                each.operand_count == 2 && operands[0].kind == OperandKind::reg &&
                                !operands[0].has_component;
      if (sets_literal && width(body.registers[operands[0].index].type) == 4)
        literals[operands[0].index] = bits_of(operands[1]);
    }
    for (std::size_t i = 0; i < writes.size(); ++i)
      if (writes[i] != 1) literals[i].reset();
  }
  return literals[one.index];
}

bool FunctionDecoder::decode_folded() {
  const Mnemonic &name = mnemonic();
  if (!name.has(Modifier::approx) && !name.has(Modifier::full)) return false;
  if (name.type() != Type::f32 || name.types.size() != 1) return false;
  const bool flush = name.has(Modifier::ftz);
  std::optional<std::uint32_t> a = literal(operand(1)), b = 0;
  if (name.opcode == Opcode::div) b = literal(operand(2));
  if (!a || !b) return false;
  const float value = folded(name.opcode, flushed(number(*a), flush), flushed(number(*b), flush), flush);
  if (std::isnan(value)) return false;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  emit("mov.b32", destination(operand(0), 4), constant(4, bits));
  return true;
}

}  // namespace cushim::ptx::execute
