// SPDX-License-Identifier: Apache-2.0
// Comparisons: setp and set.
#include <cstring>

#include "execute/decode.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_compare_pairs(bool to_predicates) {
  Words words = split(mnemonic().ordered);
  const bool flushes = take(words, "ftz"), brain = words.back() == "bf16x2";
  const std::uint32_t combine = take(words, "and") ? 1 : take(words, "or") ? 2 : take(words, "xor") ? 3 : 0;
  const std::string key = "setp." + std::string{words[1]} + (brain ? ".bf16" : flushes ? ".ftz.f16" : ".f16");
  const LaneOperation *const row = find(key);
  if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
  const std::uint32_t both[2] = {source(operand(1), 4), source(operand(2), 4)};
  const std::uint32_t c = combine != 0 ? source(operand(3), 1) : 0;
  std::uint32_t halves[2][2], results[2];
  for (unsigned side = 0; side < 2; ++side) {
    auto &list = code.words.emplace_back(5);
    const std::uint32_t parts[3] = {2, halves[side][0] = allocate(2), halves[side][1] = allocate(2)};
    std::memcpy(list.data(), parts, sizeof parts);
    part_lists.push_back({list.data(), 1});
    part_lists.push_back({list.data(), 2});
    Op &op = emit(find("unpack.4.2")->run);
    op.a = both[side];
    op.data = list.data();
  }
  const Operand &to = operand(0);
  for (unsigned half = 0; half < 2; ++half) {
    results[half] = allocate(1);
    Op &op = emit(row->run);
    op.d = results[half];
    op.a = halves[0][half];
    op.b = halves[1][half];
    op.c = c;
    op.extra = combine;
  }
  if (to_predicates) {
    for (unsigned half = 0; half < 2; ++half) {
      if (half == 1 && to.kind != OperandKind::pair) break;
      const std::uint32_t d = destination(to.kind == OperandKind::pair ? element(to, half) : to, 1);
      Op &op = emit(find("mov.pred")->run);
      op.d = d;
      op.a = results[half];
    }
    return;
  }
  const std::string_view type = words[words.size() - 2];
  const std::uint64_t yes = type == "f16x2" ? 0x3c00 : type == "bf16x2" ? 0x3f80 : 0xffff;
  const std::uint32_t d = destination(to, 4);
  std::uint32_t kept = constant(4, 0);
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint32_t chosen = allocate(4);
    Op &select = emit(find("selp.b32")->run);
    select.d = chosen;
    select.a = constant(4, yes << 16 * half);
    select.b = constant(4, 0);
    select.c = results[half];
    const std::uint32_t rendezvous_mask = half == 1 ? d : allocate(4);
    Op &op = emit(find("or.b32")->run);
    op.d = rendezvous_mask;
    op.a = kept;
    op.b = chosen;
    kept = rendezvous_mask;
  }
}

void FunctionDecoder::decode_setp() {
  Words words = split(mnemonic().ordered);
  static const std::map<std::string_view, std::string_view> same{
      {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  if (const auto found = same.find(words[1]); found != same.end()) words[1] = found->second;
  std::uint32_t combine = take(words, "and") ? 1 : take(words, "or") ? 2 : take(words, "xor") ? 3 : 0;
  if (words.back() == "f16x2" || words.back() == "bf16x2") return decode_compare_pairs(true);
  const LaneOperation *const row = find(joined(words));
  if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
  const unsigned bytes = static_cast<unsigned>(row->signature[1] - '0');
  const std::uint32_t a = source(operand(1), bytes, words.back());
  const std::uint32_t b = source(operand(2), bytes, words.back());
  std::uint32_t c = 0;
  if (combine != 0) c = source(operand(3), 1);
  const Operand &to = operand(0);
  const bool two = to.kind == OperandKind::pair;
  const std::uint32_t d = destination(two ? element(to, 0) : to, 1);
  const std::uint32_t second = two ? destination(element(to, 1), 1) : 0;
  Op &op = emit(row->run);
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
  op.extra = combine | (two ? 8 : 0);
  op.immediate = second;
}

void FunctionDecoder::decode_set() {
  Words words = split(mnemonic().ordered);
  const std::string_view from = words.back();
  if (from == "f16x2" || from == "bf16x2") return decode_compare_pairs(false);
  words.pop_back();
  const std::string_view to = words.back();
  words.back() = from;
  words[0] = "setp";
  std::uint32_t combine = take(words, "and") ? 1 : take(words, "or") ? 2 : take(words, "xor") ? 3 : 0;
  static const std::map<std::string_view, std::string_view> same{
      {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  if (const auto found = same.find(words[1]); found != same.end()) words[1] = found->second;
  const LaneOperation *const row = find(joined(words));
  if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
  const unsigned bytes = static_cast<unsigned>(row->signature[1] - '0');
  const std::uint32_t a = source(operand(1), bytes, from), b = source(operand(2), bytes, from);
  const std::uint32_t c = combine != 0 ? source(operand(3), 1) : 0;
  const std::uint32_t p = allocate(1);
  Op &compare = emit(row->run);
  compare.d = p;
  compare.a = a;
  compare.b = b;
  compare.c = c;
  compare.extra = combine;
  const std::uint64_t yes = to == "f32" ? 0x3f800000u : to == "f16" ? 0x3c00 : to == "bf16" ? 0x3f80 : ~0ull;
  const unsigned size = width_of(to);
  const std::uint32_t d = destination(operand(0), size);
  const std::uint32_t kept = instruction->guard == no_index ? 0 : kept_by_set(d, to, bytes);
  const std::uint32_t made = kept == 0 ? d : allocate(size);
  const std::string select = "selp.b" + std::to_string(8 * size);
  emit(select, made, constant(size, yes), constant(size, 0), p);
  if (kept == 0) return;
  const std::uint32_t guard = registers[instruction->guard];
  emit(select, d, instruction->guard_negated ? kept : made, instruction->guard_negated ? made : kept, guard);
  guard_done = true;
}

std::uint32_t FunctionDecoder::kept_by_set(std::uint32_t d, std::string_view to, unsigned bytes) {
  const bool is_float = to.find('f') != to.npos;
  const unsigned size = width_of(to);
  if (!is_float && (bytes != 2 || size != 4)) return 0;
  std::uint32_t kept = d;
  if (bytes == 2 && size == 4) emit("convert.u16.u32", kept = allocate(2), d);
  if (bytes != 2 && size == 2) emit("convert.u32.u16", kept = allocate(4), d);
  const std::string from = bytes == 2 ? "s16" : "s32";
  const std::uint32_t made = allocate(size);
  if (!is_float) {
    emit("convert.u32.s16", made, kept);
    return made;
  }
  const std::uint32_t magnitude = allocate(bytes == 2 ? 2 : 4);
  emit("abs." + from, magnitude, kept);
  const auto described = describe_conversion({"rn"}, to, from);
  Op &op = emit("convert", made, magnitude);
  op.extra = (bytes == 2 ? 2 : 4) | size << 8;
  op.data = keep(*described);
  return made;
}

}  // namespace cushim::ptx::execute
