// SPDX-License-Identifier: Apache-2.0
// Arithmetic and moves.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "execute/decode.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_plain() {
  Words words = split(mnemonic().ordered);
  if (words[0][0] == 'v') return decode_video();
  if (decode_folded() || decode_contracted() || decode_division() || decode_reciprocal()) return;
  keep_factors();
  // Modifiers may follow the type, as in max.s32.relu, lg2.approx.f32.ftz and prmt.b32.f4e.
  const auto is_type = [](std::string_view word) {
    const auto modifier = find_modifier(word);
    return modifier && type_of(*modifier) != Type::none;
  };
  auto type_at = std::find_if(words.rbegin(), words.rend(), is_type).base();
  type_at = type_at == words.begin() ? words.end() - 1 : type_at - 1;
  std::rotate(type_at, type_at + 1, words.end());
  unsigned rounding = 0;
  const std::string_view type = words.back();
  if (type == "f32x2") return decode_float_pairs();
  const bool is_float = type == "f32" || type == "f64" || type == "f16" || type == "bf16" ||
                        type == "f16x2" || type == "bf16x2";
  if (is_float) {
    take(words, "rn");
    rounding = take(words, "rz") ? 1 : take(words, "rm") ? 2 : take(words, "rp") ? 3 : 0;
    if (words[0] == "mad") words[0] = "fma";
    // Accepted without effect: measured on an H200.
    if (words[0] == "fma" && type == "bf16x2") rounding = 0;
    if (words[0] == "rcp" && type == "f64" && !has(words, "approx")) take(words, "ftz");
    if (words[0] == "div" || words[0] == "rcp" || words[0] == "sqrt") {
      const bool approximate = take(words, "approx");
      if (approximate)
        words[0] = words[0] == "rcp" ? "rcp_approx" : words[0] == "sqrt" ? "sqrt_approx" : "div_approx";
      if (take(words, "full")) words[0] = "div_full";
    }
  }
  if (words[0] == "selp") normalize_type(words);
  if (words[0] == "slct") {
    const std::string_view kind = words.back();
    words.pop_back();
    normalize_type(words);
    words.push_back(kind);
  }
  take(words, "uni");
  if (words[0] == "mapa" || words[0] == "getctarank") words.back() = type.back() == '2' ? "u32" : "u64";
  take(words, "shared::cluster");  // of mapa and getctarank, whose addresses tell their space
  // ptxas puts the operand that is defined first in front: of two NaNs, the result has the bits of the
  // second.
  const bool is_ordered = words[0] == "add" || words[0] == "sub" || words[0] == "mul" || words[0] == "fma";
  const bool swaps = type == "f64" && is_ordered && is_defined_before(operand(2), operand(1));
  if (swaps && words[0] == "sub") words.insert(words.begin() + 1, "reversed");
  const LaneOperation *row = find(joined(words));
  if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
  std::array<std::uint32_t, 2> changed{no_index, no_index};
  if (instruction->opcode == Opcode::selp && type == "f32")
    changed = {sign_changed(operand(1)), sign_changed(operand(2))};
  Op &op = bind(*row, type);
  if (changed[0] != no_index) op.a = changed[0];
  if (changed[1] != no_index) op.b = changed[1];
  if (swaps) std::swap(op.a, op.b);
  if (row->signature == std::string_view{"222p"} || row->signature == std::string_view{"444p"} ||
      row->signature == std::string_view{"888p"})
    op.extra = 0;
  if (rounding != 0) {
    op.rounded = op.run;
    op.run = execute::rounded;
    op.extra = rounding;
  }
}

bool FunctionDecoder::decode_folded() {
  const std::optional<std::uint32_t> bits = literals.approximation(*instruction);
  if (bits) emit("mov.b32", destination(operand(0), 4), constant(4, *bits));
  return bits.has_value();
}

bool FunctionDecoder::decode_contracted() {
  if (contracted.empty() || contracted[instruction_index].product == no_index) return false;
  const Contraction &one = contracted[instruction_index];
  Words words = split(mnemonic().ordered);
  const std::string_view type = words.back();
  const unsigned bytes = width_of(type);
  const bool subtracts = words[0] == "sub";
  words[0] = "fma";
  const auto negated = [&](std::uint32_t at) {
    const std::uint64_t sign = type == "f64"   ? 1ull << 63
                               : bytes == 2    ? 0x8000
                               : type == "f32" ? 1u << 31
                                               : 0x80008000;
    const std::uint32_t to = allocate(bytes);
    emit("xor.b" + std::to_string(8 * bytes), to, at, constant(bytes, sign));
    return to;
  };
  const Instruction &product = function.body.instructions[one.product];
  const Operand *const factors = &function.body.operands[product.first_operand];
  std::uint32_t a = 0, b = 0, c = source(operand(3 - one.operand), bytes, type);
  if (const auto found = kept.find(one.product); found != kept.end()) {
    a = found->second.a, b = found->second.b;
  } else if (product.opcode == Opcode::div) {
    return false;  // a constant
  } else {
    a = source(factors[1], bytes, type), b = source(factors[2], bytes, type);
  }
  if (type == "f64" && is_defined_before(factors[2], factors[1])) std::swap(a, b);
  if (subtracts && one.operand == 1) c = negated(c);
  if ((subtracts && one.operand == 2) != one.is_negated) a = negated(a);
  emit(joined(words), destination(operand(0), bytes), a, b, c);
  return true;
}

void FunctionDecoder::keep_factors() {
  if (contracted.empty() || !contracted[instruction_index].is_kept) return;
  const std::string_view type = split(mnemonic().ordered).back();
  const unsigned bytes = width_of(type);
  const std::uint32_t a = source(operand(1), bytes, type), b = source(operand(2), bytes, type);
  kept[instruction_index] = {copy(bytes, a), copy(bytes, b)};
}

std::uint32_t FunctionDecoder::copy(unsigned bytes, std::uint32_t from) {
  const std::uint32_t to = allocate(bytes);
  emit("mov.b" + std::to_string(8 * bytes), to, from);
  return to;
}

void FunctionDecoder::normalize_type(Words &words) {
  const std::string_view type = words.back();
  words.back() = type == "f32" || type == "u32" || type == "s32" || type == "b32"   ? "b32"
                 : type == "f64" || type == "u64" || type == "s64" || type == "b64" ? "b64"
                 : type == "pred"                                                   ? "pred"
                 : type == "b128"                                                   ? "b128"
                 : type == "f16x2" || type == "bf16x2"                              ? "b32"
                                                                                    : "b16";
}

void FunctionDecoder::decode_float_pairs() {
  Words words = split(mnemonic().ordered);
  words.back() = "f32";
  take(words, "rn");
  const unsigned rounding = take(words, "rz") ? 1 : take(words, "rm") ? 2 : take(words, "rp") ? 3 : 0;
  const auto list_of = [this](const std::uint32_t *halves) {
    const std::uint32_t parts[3] = {2, halves[0], halves[1]};
    auto &list = code.words.emplace_back(2);
    std::memcpy(list.data(), parts, sizeof parts);
    part_lists.push_back({list.data(), 1});
    part_lists.push_back({list.data(), 2});
    return list.data();
  };
  std::uint32_t halves[4][2]{};
  for (std::size_t i = 0; i < count(); ++i)
    for (std::uint32_t &half : halves[i]) half = allocate(4);
  for (std::size_t i = 1; i < count(); ++i)
    emit("unpack.8.4", 0, source(operand(i), 8)).data = list_of(halves[i]);
  for (unsigned half = 0; half < 2; ++half) {
    Op &op = emit(joined(words), halves[0][half], halves[1][half], halves[2][half], halves[3][half]);
    if (rounding == 0) continue;
    op.rounded = op.run;
    op.run = execute::rounded;
    op.extra = rounding;
  }
  emit("pack.8.4", destination(operand(0), 8)).data = list_of(halves[0]);
}

void FunctionDecoder::decode_lop3() {
  const Words words = split(mnemonic().ordered);
  const bool two = operand(0).kind == OperandKind::pair;
  const std::uint32_t a = source(operand(1), 4), b = source(operand(2), 4), c = source(operand(3), 4);
  const std::uint32_t d = destination(two ? element(operand(0), 0) : operand(0), 4);
  emit("lop3.b32", d, a, b, c).extra = static_cast<std::uint32_t>(operand(4).value) & 0xff;
  if (words.size() == 2) return;
  // The predicate combines "the result is not 0" with the last operand.
  const std::uint32_t q = source(operand(5), 1);
  const std::uint32_t p = two ? destination(element(operand(0), 1), 1) : allocate(1);
  emit("setp.ne.b32", p, d, constant(4, 0), q).extra = words[1] == "and" ? 1 : 2;
}

void FunctionDecoder::decode_stack() {
  const Words words = split(mnemonic().ordered);
  const unsigned bytes = width_of(words.back());
  out.calls = true;  // the kernel's threads need a stack
  const std::string suffix = std::to_string(bytes);
  if (words[0] == "stacksave") {
    emit("stacksave." + suffix, destination(operand(0), bytes));
  } else if (words[0] == "stackrestore") {
    emit("stackrestore." + suffix, 0, source(operand(0), bytes));
  } else {
    const std::uint32_t size = source(operand(1), bytes);
    Op &op = emit("alloca." + suffix, destination(operand(0), bytes), size);
    op.immediate = count() > 2 ? operand(2).value : 8;
  }
}

void FunctionDecoder::decode_bytes(unsigned bytes) {
  const Operand &to = operand(0), &from = operand(1);
  const std::string bits = std::to_string(8 * bytes);
  if (from.kind == OperandKind::vector) {
    std::uint32_t whole = constant(bytes, 0);
    for (std::uint32_t i = 0; i < from.count; ++i) {
      std::uint32_t part = source(element(from, i), 2);
      if (bytes != 2) {
        const std::uint32_t narrow = part;
        part = allocate(bytes);
        emit("convert.u" + bits + ".u16", part, narrow);
      }
      const std::uint32_t byte = allocate(bytes), shifted = allocate(bytes), joined = allocate(bytes);
      emit("and.b" + bits, byte, part, constant(bytes, 0xff));
      emit("shl.b" + bits, shifted, byte, constant(4, 8 * i));
      emit("or.b" + bits, joined, whole, shifted);
      whole = joined;
    }
    emit("mov.b" + bits, destination(to, bytes), whole);
    return;
  }
  const std::uint32_t whole = allocate(bytes);  // may be one of the destinations
  emit("mov.b" + bits, whole, source(from, bytes));
  for (std::uint32_t i = 0; i < to.count; ++i) {
    if (element(to, i).kind == OperandKind::sink) continue;
    std::uint32_t part = allocate(bytes);
    emit("shr.u" + bits, part, whole, constant(4, 8 * i));
    if (bytes != 2) {
      const std::uint32_t wide = part;
      part = allocate(2);
      emit("convert.u16.u" + bits, part, wide);
    }
    emit("and.b16", destination(element(to, i), 2), part, constant(2, 0xff));
  }
}

void FunctionDecoder::decode_vector_mov(std::string_view type) {
  const unsigned bytes = width_of(type);
  const Operand &to = operand(0), &from = operand(1);
  const std::string move = "mov.b" + std::to_string(8 * bytes);
  // A component of a register that is a vector, or an element of a list of registers.
  const auto part = [this](const Operand &whole, std::uint32_t i) {
    if (whole.kind == OperandKind::vector) return element(whole, i);
    Operand one = whole;
    one.index += 1 + i;
    return one;
  };
  const std::uint32_t parts = to.kind == OperandKind::vector ? to.count : from.count;
  std::vector<std::uint32_t> values;  // copies, because a source may also be a destination
  for (std::uint32_t i = 0; i < parts; ++i) {
    values.push_back(allocate(bytes));
    emit(move, values.back(), source(part(from, i), bytes, type));
  }
  for (std::uint32_t i = 0; i < parts; ++i)
    if (const Operand one = part(to, i); one.kind != OperandKind::sink)
      emit(move, destination(one, bytes), values[i]);
}

void FunctionDecoder::decode_mov() {
  Words words = split(mnemonic().ordered);
  const Operand &to = operand(0);
  const Operand &from = operand(1);
  if (has(words, "v2") || has(words, "v4")) return decode_vector_mov(words.back());
  normalize_type(words);
  const unsigned bytes = width_of(words.back());
  if (from.kind == OperandKind::vector || to.kind == OperandKind::vector) {
    const bool packing = from.kind == OperandKind::vector;
    const Operand &group = packing ? from : to;
    const unsigned part = bytes / group.count;
    if (part == 1) return decode_bytes(bytes);
    const LaneOperation *const row =
        find((packing ? "pack." : "unpack.") + std::to_string(bytes) + "." + std::to_string(part));
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    auto &list = code.words.emplace_back(5);
    const auto set = [&list](std::size_t index, std::uint32_t value) {
      std::memcpy(reinterpret_cast<std::byte *>(list.data()) + 4 * index, &value, 4);
    };
    set(0, group.count);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const Operand &one = element(group, i);
      const bool sink = one.kind == OperandKind::sink;
      set(1 + i, packing ? source(one, part) : sink ? ~0u : destination(one, part));
      if (!sink || packing) part_lists.push_back({list.data(), 1 + i});
    }
    const std::uint32_t whole = packing ? destination(to, bytes) : source(from, bytes);
    Op &op = emit(row->run);
    op.d = op.a = whole;
    op.data = list.data();
    return;
  }
  if (from.kind == OperandKind::special && words.back() != "pred") {
    special(from, destination(to, bytes), bytes);
    return;
  }
  const std::uint32_t a = source(from, bytes, split(mnemonic().ordered).back());
  const LaneOperation *const row = find(joined(words));
  if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
  const std::uint32_t d = destination(to, bytes);
  Op &op = emit(row->run);
  op.d = d;
  op.a = a;
}

}  // namespace cushim::ptx::execute
