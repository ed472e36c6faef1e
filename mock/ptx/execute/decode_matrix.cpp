// SPDX-License-Identifier: Apache-2.0
// Matrix instructions.
#include <cstdio>
#include <cstring>

#include "execute/count.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

MatrixType FunctionDecoder::matrix_type(std::string_view type) {
  static const std::map<std::string_view, MatrixType> types{
      {"f16", {Kind::f16, 16}},         {"bf16", {Kind::bf16, 16}},
      {"tf32", {Kind::tf32, 32}},       {"f32", {Kind::f32, 32}},
      {"f64", {Kind::f64, 64}},         {"e4m3", {Kind::e4m3, 8}},
      {"e5m2", {Kind::e5m2, 8}},        {"s32", {Kind::integer, 32, true}},
      {"s8", {Kind::integer, 8, true}}, {"u8", {Kind::integer, 8, false}},
      {"s4", {Kind::integer, 4, true}}, {"u4", {Kind::integer, 4, false}},
      {"b1", {Kind::integer, 1, false}}};
  const auto found = types.find(type);
  if (found == types.end()) throw UnsupportedInstruction{"is not supported"};
  return found->second;
}

MatrixShape FunctionDecoder::matrix_shape(std::string_view word) {
  MatrixShape shape{};
  if (std::sscanf(std::string{word}.c_str(), "m%un%uk%u", &shape.m, &shape.n, &shape.k) != 3)
    throw UnsupportedInstruction{"is not supported"};
  return shape;
}

FragmentOperand FunctionDecoder::fragment(FragmentLayout layout, char matrix, const MatrixShape &shape,
                                          const MatrixType &type, const Operand &group, bool result) {
  FragmentOperand made{};
  made.type = type;
  const unsigned bytes = type.bits == 64 ? 8 : 4;
  const unsigned registers = group.kind == OperandKind::vector ? group.count : 1;
  if (registers > most_matrix_registers) throw UnsupportedInstruction{"is not supported"};
  for (unsigned i = 0; i < registers; ++i) {
    const Operand &one = group.kind == OperandKind::vector ? element(group, i) : group;
    made.registers[i] = result ? destination(one, bytes) : source(one, bytes);
  }
  made.elements = fragment_elements(layout, matrix, shape, type, registers);
  return made;
}

const Fragment *FunctionDecoder::fragment_elements(FragmentLayout layout, char matrix,
                                                   const MatrixShape &shape, const MatrixType &type,
                                                   unsigned registers) {
  const auto [found, added] =
      code.fragments.try_emplace({static_cast<std::uint32_t>(layout), static_cast<std::uint32_t>(matrix),
                                  shape.m, shape.n, shape.k, type.bits, registers});
  if (added) found->second = make_fragment(layout, matrix, shape, type, registers);
  for (const FragmentElement &at : found->second)
    if (at.reg >= registers) throw UnsupportedInstruction{"has too few registers"};
  return &found->second;
}

std::uint32_t selector_of(const MatrixProduct &product, const Operand &operand) {
  const unsigned selectors = 4 / metadata_lanes(product);
  if (operand.value < 0 || operand.value >= selectors)
    throw UnsupportedInstruction{"has a selector outside of 0 to " + std::to_string(selectors - 1)};
  return static_cast<std::uint32_t>(operand.value);
}

// ptxas accepts the selectors 2 and 3 of this sparse product, although they are illegal instructions.
static bool accepts_any_selector(const MatrixProduct &p, const Operand &selector) {
  return p.k == 16 && p.d.type.kind == Kind::f32 && p.a.type.kind == Kind::f16 &&
         (selector.value == 2 || selector.value == 3);
}

void FunctionDecoder::decode_mma() {
  Words words = split(mnemonic().ordered);
  FragmentLayout layouts[2] = {};  // of a and b, if the product is in quads
  unsigned known_layouts = 0;
  for (const std::string_view word : words)
    if (word == "row" || word == "col")
      layouts[known_layouts++ % 2] =
          word == "row" ? FragmentLayout::quads_by_rows : FragmentLayout::quads_by_columns;
  for (const auto word : {"sync", "aligned", "row", "row", "col", "col", "rn", "mma"}) take(words, word);
  MatrixProduct product{};
  product.finite = take(words, "satfinite");
  product.exclusive_or = take(words, "xor");
  for (const auto word : {"and", "popc"}) take(words, word);
  // wmma on f16 names the types of d and c only.
  const bool halves = words[0] == "wmma" && words.size() == 4;
  product.is_sparse = words[1] == "sp" || words[1] == "sp::ordered_metadata";
  if (product.is_sparse) words.erase(words.begin() + 1);
  if (words.size() != 6 && !halves) throw UnsupportedInstruction{"is not supported"};
  static_cast<MatrixShape &>(product) = matrix_shape(words[1]);
  const MatrixType d = matrix_type(words[2]), a = matrix_type(halves ? "f16" : words[3]),
                   b = matrix_type(halves ? "f16" : words[4]), c = matrix_type(words.back());
  const bool is_wmma = words[0] == "wmma";
  if (!is_wmma && product.n != 8) throw UnsupportedInstruction{"is not supported"};
  product.in_quads = !is_wmma && product.m == 8 && a.bits == 16;
  if (!product.in_quads) layouts[0] = layouts[1] = is_wmma ? FragmentLayout::wmma : FragmentLayout::mma;
  product.through_f16 = a.bits == 8 && a.kind != Kind::integer;
  product.in_steps_of_four = is_wmma && a.kind == Kind::tf32;
  product.d = fragment(layouts[0], 'd', product, d, operand(0), true);
  product.b = fragment(layouts[1], 'b', product, b, operand(2), false);
  std::uint32_t metadata = 0;
  if (product.is_sparse) {
    product.k /= 2;
    product.a.type = a;
    if (accepts_any_selector(product, operand(5))) {
      emit(trap, Flow::stop).extra = static_cast<std::uint32_t>(FaultKind::illegal_instruction);
      return;
    }
    product.selector = selector_of(product, operand(5));
    metadata = source(operand(4), 4);
  }
  product.a = fragment(layouts[0], 'a', product, a, operand(1), false);
  product.c = fragment(layouts[0], 'c', product, c, operand(3), false);
  const FragmentOperand *const operands[] = {&product.a, &product.b, &product.c, &product.d};
  const void *const data = keep_fragments(product, operands);
  Op &op = emit(multiply_matrices);
  op.b = metadata;
  op.data = data;
}

void FunctionDecoder::decode_wmma() {
  const Words words = split(mnemonic().ordered);
  if (words[1] == "mma") return decode_mma();
  MatrixMove move{};
  move.store = words[1] == "store";
  move.by_columns = has(words, "col");
  move.shared = space_of(words) == StateSpace::shared;
  const char matrix = words[2][0];
  const MatrixShape shape = matrix_shape(words[6]);
  move.rows = matrix == 'b' ? shape.k : shape.m;
  move.columns = matrix == 'a' ? shape.k : shape.n;
  const MatrixType type = matrix_type(words.back());
  const std::uint32_t at = full_address(operand(move.store ? 0 : 1));
  const std::uint32_t stride =
      count() > 2 ? source(operand(2), 4) : constant(4, move.by_columns ? move.rows : move.columns);
  move.fragment =
      fragment(FragmentLayout::wmma, matrix, shape, type, operand(move.store ? 1 : 0), !move.store);
  const FragmentOperand *const operands[] = {&move.fragment};
  const void *const data = keep_fragments(move, operands);
  Op &op = emit(move_fragment);
  op.a = at;
  op.b = stride;
  op.data = data;
  op.cache = cache();
}

void FunctionDecoder::decode_matrix_move(bool store) {
  const Words words = split(mnemonic().ordered);
  const unsigned matrices = has(words, "x4") ? 4 : has(words, "x2") ? 2 : 1;
  if (!has(words, "m8n8") || words.back() != "b16") throw UnsupportedInstruction{"is not supported"};
  const std::uint32_t at_address = full_address(operand(store ? 0 : 1));
  const Operand &group = operand(store ? 1 : 0);
  auto &list = code.words.emplace_back(2);
  for (unsigned i = 0; i < matrices; ++i) {
    const Operand &one = group.kind == OperandKind::vector ? element(group, i) : group;
    const std::uint32_t at = store ? source(one, 4) : destination(one, 4);
    std::memcpy(reinterpret_cast<std::byte *>(list.data()) + 4 * i, &at, 4);
    part_lists.push_back({list.data(), i});
  }
  count_access({.bytes = 16,
                .space = CountedAccess::Space::shared,
                .reads = !store,
                .writes = store,
                .rows = static_cast<std::uint8_t>(8 * matrices)},
               at_address);
  Op &op = emit(move_matrices);
  op.a = at_address;
  op.data = list.data();
  op.extra = matrices | (has(words, "trans") ? 1u << 8 : 0) | (store ? 1u << 9 : 0);
}

void FunctionDecoder::decode_transpose() {
  const std::uint32_t a = source(operand(1), 4), d = destination(operand(0), 4);
  Op &op = emit(transpose_matrix);
  op.a = a;
  op.d = d;
}

}  // namespace cushim::ptx::execute
