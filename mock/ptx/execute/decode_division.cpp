// SPDX-License-Identifier: Apache-2.0
// Approximate divisions and reciprocals that ptxas 13.0 computes as something else.
#include <cmath>

#include "execute/decode.hpp"

namespace cushim::ptx::execute {

bool FunctionDecoder::decode_division() {
  const Mnemonic &name = mnemonic();
  const bool is_full = name.has(Modifier::full), flushes = name.has(Modifier::ftz);
  if (name.opcode != Opcode::div || (!is_full && !name.has(Modifier::approx)) || name.type() != Type::f32)
    return false;
  const bool is_contracted = !contracted.empty() && contracted[instruction_index].is_factored;
  const std::optional<std::uint32_t> divisor = literals.of(operand(2));
  const float number = __builtin_bit_cast(float, divisor.value_or(0x7fffffff));
  const bool is_literal = !std::isnan(number);
  const std::uint32_t known = is_literal || is_full || !flushes ? no_index : known_reciprocal(operand(2));
  if (!is_literal && !is_contracted && known == no_index) return false;
  const std::string variant = std::string{is_full ? "full" : "approx"} + (flushes ? ".ftz" : "") + ".f32",
                    multiply = flushes ? "mul.ftz.f32" : "mul.f32";
  const std::uint32_t a = source(operand(1), 4, "f32");
  Factors factors{a, 0};
  if (is_literal) {  // ptxas rounds the reciprocal to nearest
    const float scale = division_scale(number, flushes, is_full);
    const auto flushed = [](float value) {
      return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
    };
    const float scaled = (flushes ? flushed(number) : number) * scale;
    factors.b = constant(4, __builtin_bit_cast(std::uint32_t, flushed(1 / scaled)));
    if (scale != 1) {
      factors.a = allocate(4);
      emit(multiply, factors.a, a, constant(4, __builtin_bit_cast(std::uint32_t, scale)));
    }
  } else if (known != no_index) {
    factors.b = known;
  } else {
    const std::uint32_t b = source(operand(2), 4, "f32");
    factors = {allocate(4), allocate(4)};
    emit("dividend." + variant, factors.a, a, b);
    emit("reciprocal." + variant, factors.b, b);
  }
  if (is_contracted)
    kept[instruction_index] = {factors.a == a ? copy(4, a) : factors.a,
                               factors.b == known ? copy(4, known) : factors.b};
  emit(multiply, destination(operand(0), 4), factors.b, factors.a);
  return true;
}

bool FunctionDecoder::decode_reciprocal() {
  const Mnemonic &name = mnemonic();
  if (name.opcode != Opcode::rcp || !name.has(Modifier::approx) || !name.has(Modifier::ftz)) return false;
  if (name.type() != Type::f32) return false;
  const std::uint32_t known = known_reciprocal(operand(1));
  if (known == no_index) return false;
  emit("mov.b32", destination(operand(0), 4), known);
  return true;
}

std::uint32_t FunctionDecoder::known_reciprocal(const Operand &one) {
  if (module.target.debug || one.kind != OperandKind::reg) return no_index;
  const Definition &found = definitions[one.index];
  if (found.writes == 0 || found.is_guarded || found.block != block) return no_index;
  const Instruction &inner = function.body.instructions[found.at];
  const Mnemonic &name = module.mnemonics[inner.mnemonic];
  if (name.types.size() != 1 || name.type() != Type::f32 || !name.has(Modifier::approx) ||
      !name.has(Modifier::ftz))
    return no_index;
  const Operand &from = function.body.operands[inner.first_operand + 1];
  if (from.kind != OperandKind::reg || definitions[from.index].at >= found.at) return no_index;
  if (inner.opcode == Opcode::rcp) return source(from, 4, "f32");
  if (inner.opcode != Opcode::ex2 || found.reads != 1) return no_index;
  const std::uint32_t negated = allocate(4), made = allocate(4);
  emit("xor.b32", negated, source(from, 4, "f32"), constant(4, 1u << 31));
  emit("ex2.approx.ftz.f32", made, negated);
  return made;
}

}  // namespace cushim::ptx::execute
