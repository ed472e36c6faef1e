// SPDX-License-Identifier: Apache-2.0
// wgmma. A product completes when the last warp of the warpgroup executes it, so that fence, commit_group and
// wait_group have no effect.
#include "execute/decode.hpp"
#include "execute/warpgroup.hpp"

namespace cushim::ptx::execute {
namespace {

bool is_minus_one(const Operand &scale) {
  if (scale.value != 1 && scale.value != -1)
    throw UnsupportedInstruction{"has an immediate scale that is neither 1 nor -1"};
  return scale.value == -1;
}

bool is_transposed(const Operand &transpose) {
  if (transpose.value != 0 && transpose.value != 1)
    throw UnsupportedInstruction{"has a transposition that is neither 0 nor 1"};
  return transpose.value == 1;
}

}  // namespace

void FunctionDecoder::decode_wgmma() {
  Words words = split(mnemonic().ordered);
  if (words[1] != "mma_async") return;
  WarpgroupProduct group{};
  MatrixProduct &product = group.product;
  product.is_sparse = take(words, "sp");
  const std::size_t scales = product.is_sparse ? 6 : 4;  // the first operand after scale-d
  product.finite = take(words, "satfinite");
  const MatrixShape shape = matrix_shape(words[4]);
  const MatrixType d = matrix_type(words[5]), a = matrix_type(words[6]), b = matrix_type(words[7]);
  static_cast<MatrixShape &>(product) = {16, 8, product.is_sparse ? shape.k / 2 : shape.k};
  product.is_short = a.bits == 8 && a.kind != Kind::integer;
  product.a.type = a;
  product.b.type = b;
  product.c.type = product.d.type = d;
  group.blocks = shape.n / 8;
  group.a_in_registers = operand(1).kind == OperandKind::vector;
  std::uint32_t descriptor = 0;
  if (group.a_in_registers) {
    if (operand(1).count != 4) throw UnsupportedInstruction{"has a vector of the wrong size"};
    product.a = fragment(FragmentLayout::mma, 'a', product, a, operand(1), false);
  } else {
    descriptor = source(operand(1), 8);
  }
  const unsigned registers = d.bits == 16 ? 2 : 4;  // of a block
  if (operand(0).count != group.blocks * registers)
    throw UnsupportedInstruction{"has a vector of the wrong size"};
  std::vector<const FragmentOperand *> operands{&product.a};
  for (unsigned block = 0; block < group.blocks; ++block) {
    FragmentOperand &one = group.d[block];
    one.type = d;
    one.elements = fragment_elements(FragmentLayout::mma, 'd', product, d, registers);
    for (unsigned i = 0; i < registers; ++i)
      one.registers[i] = destination(element(operand(0), block * registers + i), 4);
    operands.push_back(&one);
  }
  if (count() > scales) {
    group.a_negated = is_minus_one(operand(scales));
    group.b_negated = is_minus_one(operand(scales + 1));
  }
  if (count() > scales + 2) {
    group.b_transposed = is_transposed(operand(count() - 1));
    if (!group.a_in_registers) group.a_transposed = is_transposed(operand(scales + 2));
  }
  std::uint32_t metadata = 0;
  if (product.is_sparse) {
    metadata = source(operand(3), 4);
    product.selector = selector_of(product, operand(4));
  }
  const std::uint32_t b_at = source(operand(2), 8), scale = source(operand(scales - 1), 1);
  const void *const data = keep_fragments(group, operands);
  Op &op = emit(multiply_warpgroup);
  op.a = descriptor;
  op.b = b_at;
  op.c = scale;
  op.d = metadata;
  op.data = data;
}

}  // namespace cushim::ptx::execute
