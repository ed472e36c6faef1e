// SPDX-License-Identifier: Apache-2.0
// Multimem instructions: loads with a reduction, stores and reductions.
#include "execute/atomics.hpp"
#include "execute/count.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

namespace {

// Returns the type by which a store writes elements of this size, as an exchange.
std::string_view stored_type(unsigned bytes) { return bytes == 2 ? "b16" : bytes == 4 ? "b32" : "b64"; }

}  // namespace

void FunctionDecoder::decode_multimem() {
  const Words words = split(mnemonic().ordered);
  const bool loads = has(words, "ld_reduce"), stores = has(words, "st");
  if (!loads && !stores && !has(words, "red")) throw UnsupportedInstruction{"is not supported"};
  const unsigned vector = has(words, "v2") ? 2 : has(words, "v4") ? 4 : has(words, "v8") ? 8 : 1;
  const std::string_view type = words.back();
  if (!atomic_kind(type)) throw UnsupportedInstruction{"is not supported"};
  const unsigned bytes = width_of(type);
  const std::uint32_t kind = *atomic_kind(stores ? stored_type(bytes) : type);
  const std::uint32_t operation = stores ? atomic_exchange : atomic_operation(words);
  const std::uint32_t sums_in_f32 = has(words, "acc::f32") && operation == 0 ? 1u << 16 : 0;
  const Address where = address(operand(loads ? 1 : 0));
  const std::uint32_t at = widened(where);
  const Operand &value = operand(loads ? 0 : 1);
  const auto part = [&](unsigned i) { return vector > 1 ? element(value, i) : value; };
  count_access(
      {.bytes = bytes * vector, .space = counted_space(StateSpace::global), .reads = loads, .writes = !loads},
      at, where.offset);
  std::vector<std::uint32_t> results;
  for (unsigned i = 0; i < vector; ++i) {
    // The results of a vector go to temporary registers, because a result may also be the address.
    if (loads) results.push_back(vector == 1 ? destination(value, bytes) : allocate(bytes));
    Op &op = loads ? emit("multimem.load", results.back(), at)
                   : emit("multimem.update", 0, at, source(part(i), bytes, type));
    op.immediate = where.offset + i * bytes;
    op.extra = operation | kind << 8 | sums_in_f32 | (i == 0 ? vector : 1) * bytes << 24;
  }
  for (unsigned i = 0; loads && vector > 1 && i < vector; ++i)
    if (const Operand one = part(i); one.kind != OperandKind::sink)
      emit(bytes == 4 ? "mov.b32" : bytes == 2 ? "mov.b16" : "mov.b64", destination(one, bytes), results[i]);
}

}  // namespace cushim::ptx::execute
