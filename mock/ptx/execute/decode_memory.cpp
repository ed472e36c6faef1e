// SPDX-License-Identifier: Apache-2.0
// Loads, stores, atomics and copies.
#include <algorithm>
#include <cstring>
#include <optional>

#include "execute/atomics.hpp"
#include "execute/count.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

StateSpace FunctionDecoder::space_of(const Words &words) {
  for (const auto word : words) {
    if (word == "global") return StateSpace::global;
    if (word.substr(0, 6) == "shared") return StateSpace::shared;
    if (word == "local") return StateSpace::local;
    if (word == "const") return StateSpace::const_;
    if (word.substr(0, 5) == "param") return StateSpace::param;
  }
  return StateSpace::none;
}

void FunctionDecoder::decode_memory(bool store) {
  const Words words = split(mnemonic().ordered);
  const unsigned vector = has(words, "v2") ? 2 : has(words, "v4") ? 4 : has(words, "v8") ? 8 : 1;
  const std::string_view type = words.back();
  const unsigned memory_bytes = bytes_of(type);
  const bool is_signed = type[0] == 's' && !store;
  const Operand &value = operand(store ? 1 : 0);
  Address where = address(operand(store ? 0 : 1));
  StateSpace space = space_of(words);
  if (has(words, "volatile") || has(words, "relaxed") || has(words, "acquire") || has(words, "mmio"))
    emit(find("fence")->run);
  std::vector<std::uint32_t> at;
  unsigned register_bytes = 0;
  for (unsigned i = 0; i < vector; ++i) {
    const Operand &one = value.kind == OperandKind::vector ? element(value, i) : value;
    unsigned bytes = std::max(2u, memory_bytes);
    if (one.kind == OperandKind::reg) bytes = width(register_type(one));
    if (register_bytes != 0 && bytes != register_bytes && one.kind == OperandKind::reg)
      throw UnsupportedInstruction{"mixes registers of several sizes"};
    if (one.kind == OperandKind::reg || register_bytes == 0) register_bytes = bytes;
    if (one.kind == OperandKind::sink)
      at.push_back(~0u);
    else
      at.push_back(store ? source(one, register_bytes, type) : destination(one, register_bytes));
  }
  if (register_bytes == 1) throw UnsupportedInstruction{"moves a predicate"};
  std::string suffix = (is_signed && memory_bytes < register_bytes ? ".s" : ".u") +
                       std::to_string(8 * memory_bytes) + "." + std::to_string(register_bytes);
  if (where.slot != nullptr || where.kernel_parameter) {
    const LaneOperation *const row = find((where.kernel_parameter ? "ld.parameter"
                                           : store                ? "st.slot"
                                                                  : "ld.slot") +
                                          suffix);
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    for (unsigned i = 0; i < vector; ++i) {
      const std::int64_t offset = where.offset + i * memory_bytes;
      if (at[i] == ~0u) continue;
      if (where.slot != nullptr && (offset < 0 || offset + memory_bytes > where.slot->bytes))
        throw UnsupportedInstruction{"reaches beyond a parameter"};
      if (where.kernel_parameter &&
          (offset < 0 || offset + memory_bytes > std::int64_t(out.info.parameter_bytes)))
        throw UnsupportedInstruction{"reaches beyond the parameters"};
      Op &op = emit(row->run);
      op.d = at[i];
      op.immediate = offset;
      if (where.slot != nullptr) {
        op.a = where.slot->at + static_cast<std::uint32_t>(offset);
        op.extra = where.slot->bytes;
      }
    }
    return;
  }
  if (space == StateSpace::none && where.space != StateSpace::none) space = where.space;
  std::string key = store ? "st" : "ld";
  if (space == StateSpace::param) {
    const std::uint32_t generic = allocate(8);
    if (where.bytes != 8) throw UnsupportedInstruction{"needs addresses of 64 bits"};
    emit("add.u64", generic, where.at, constant(8, parameter_window));
    where.at = generic;
    space = StateSpace::none;
  }
  key += space == StateSpace::shared  ? ".shared"
         : space == StateSpace::local ? ".local"
         : space == StateSpace::none  ? ".generic"
                                      : ".global";
  if (space != StateSpace::shared && space != StateSpace::local) {
    where.at = widened(where);
    where.bytes = 8;
  }
  if (space == StateSpace::shared || space == StateSpace::local)
    key += where.bytes == 4 ? ".4" : ".8";
  else
    key += ".8";
  const LaneOperation *const row = find(key + suffix);
  if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
  const bool bypasses_l1 = has(words, "volatile") || has(words, "relaxed") || has(words, "acquire") ||
                           has(words, "mmio") || has(words, "cg") || has(words, "cv");
  count_access({.bytes = memory_bytes * vector,
                .space = counted_space(space),
                .reads = !store,
                .writes = store,
                .bypasses_l1 = bypasses_l1,
                .is_wide = where.bytes == 8},
               where.at, where.offset);
  Op &op = emit(row->run);
  op.a = where.at;
  op.d = at[0];
  op.immediate = where.offset;
  op.cache = cache();
  op.extra = memory_bytes * vector;
  if (vector > 1) {
    auto &list = code.words.emplace_back(5);
    const auto set = [&list](std::size_t index, std::uint32_t word) {
      std::memcpy(reinterpret_cast<std::byte *>(list.data()) + 4 * index, &word, 4);
    };
    set(0, vector);
    for (unsigned i = 0; i < vector; ++i) {
      set(1 + i, at[i]);
      if (at[i] != ~0u) part_lists.push_back({list.data(), 1 + i});
    }
    op.data = list.data();
  }
  if (has(words, "mbarrier::complete_tx::bytes")) complete_bytes(operand(2), memory_bytes * vector);
}

std::uint32_t atomic_operation(const Words &words) {
  static constexpr std::string_view names[] = {"add", "and", "or",  "xor",  "min",
                                               "max", "inc", "dec", "exch", "cas"};
  for (std::uint32_t i = 0; i < std::size(names); ++i)
    if (has(words, names[i])) return i;
  throw UnsupportedInstruction{"is not supported"};
}

void FunctionDecoder::decode_atomic(bool returns) {
  const Words words = split(mnemonic().ordered);
  // The type of a vector is in front of the operation.
  const unsigned vector = has(words, "v2") ? 2 : has(words, "v4") ? 4 : has(words, "v8") ? 8 : 1;
  std::string_view type = words.back();
  for (const auto word : words)
    if (vector > 1 && atomic_kind(word)) type = word;
  const std::uint32_t operation = atomic_operation(words);
  const bool wide = type == "b128";  // exch and cas only, which the parser checks
  const std::optional<std::uint32_t> kind = wide ? 0 : atomic_kind(type);
  if (!kind) throw UnsupportedInstruction{"is not supported"};
  const unsigned bytes = width_of(type);
  const std::size_t first = returns ? 1 : 0;
  const Address where = address(operand(first));
  StateSpace space = space_of(words);
  if (space == StateSpace::none && where.space != StateSpace::none) space = where.space;
  const std::uint32_t at = widened(where);
  const auto part = [&](const Operand &one, unsigned i) { return vector > 1 ? element(one, i) : one; };
  count_access({.bytes = bytes * vector, .space = counted_space(space), .reads = true, .writes = true}, at,
               where.offset);
  std::vector<std::uint32_t> results;
  for (unsigned i = 0; i < vector; ++i) {
    const std::uint32_t b = source(part(operand(first + 1), i), bytes, type);
    const std::uint32_t c = operation == 9 ? source(operand(first + 2), bytes, type) : 0;
    // The results of a vector go to temporary registers, because a result may also be an operand.
    results.push_back(returns && vector == 1 ? destination(operand(0), bytes) : allocate(bytes));
    Op &op = emit(wide ? "atomic.128" : "atomic", results.back(), at, b, c);
    op.immediate = where.offset + i * bytes;
    op.cache = cache();
    op.extra = operation | *kind << 8 | (space == StateSpace::shared ? 1u << 16 : 0) |
               (i == 0 ? vector : 1) * bytes << 24;
  }
  for (unsigned i = 0; returns && vector > 1 && i < vector; ++i)
    if (const Operand &one = element(operand(0), i); one.kind != OperandKind::sink)
      emit(bytes == 4 ? "mov.b32" : "mov.b16", destination(one, bytes), results[i]);
  if (has(words, "mbarrier::complete_tx::bytes")) complete_bytes(operand(2), bytes);
}

}  // namespace cushim::ptx::execute
