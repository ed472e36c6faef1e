// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and tensormap.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "cushim/ptx/tensor_map.hpp"
#include "execute/decode.hpp"
#include "execute/tensor_copy.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_tensor_copy() {
  const Words words = split(mnemonic().ordered);
  for (const std::string_view mode :
       {"im2col::w", "im2col::w::128", "tile::gather4", "tile::scatter4", "cta_group::1", "cta_group::2"})
    if (has(words, mode)) throw UnsupportedInstruction{"is not supported"};
  TensorCopy copy{};
  copy.stores = has(words, "bulk_group");
  copy.reduces = has(words, "reduce");
  if (copy.reduces) copy.operation = atomic_operation(words);
  copy.multicast = has(words, "multicast::cluster");
  copy.is_im2col = has(words, "im2col") || has(words, "im2col_no_offs");
  const Operand &tensor = operand(copy.stores ? 0 : 1);
  if (tensor.kind != OperandKind::bracket || tensor.count != 2 ||
      element(tensor, 1).kind != OperandKind::vector)
    throw UnsupportedInstruction{"has no coordinates"};
  const Operand &coordinates = element(tensor, 1);
  copy.dimensions = coordinates.count;
  if (!has(words, std::to_string(copy.dimensions) + "d"))
    throw UnsupportedInstruction{"has coordinates of another number of dimensions"};
  const std::uint32_t map = full_address(element(tensor, 0));
  const std::uint32_t shared = full_address(operand(copy.stores ? 1 : 0));
  const std::uint32_t mbarrier = copy.stores ? constant(8, 0) : full_address(operand(2));
  for (unsigned i = 0; i < copy.dimensions; ++i) copy.coordinates[i] = source(element(coordinates, i), 4);
  // The offsets follow the mbarrier; the mask of a multicast is last, before a cache policy.
  if (copy.is_im2col && !copy.stores) {
    if (count() < 4 || operand(3).kind != OperandKind::vector || operand(3).count + 2 != copy.dimensions)
      throw UnsupportedInstruction{"has another number of offsets"};
    copy.offset_count = operand(3).count;
    for (unsigned i = 0; i < copy.offset_count; ++i) copy.offsets[i] = source(element(operand(3), i), 2);
  }
  if (copy.multicast) copy.ranks = source(operand(copy.offset_count != 0 ? 4 : 3), 2);
  auto &list = code.words.emplace_back((sizeof copy + 7) / 8);
  std::memcpy(list.data(), &copy, sizeof copy);
  for (unsigned i = 0; i < copy.dimensions; ++i)
    part_lists.push_back({list.data(), offsetof(TensorCopy, coordinates) / 4 + i});
  for (unsigned i = 0; i < copy.offset_count; ++i)
    part_lists.push_back({list.data(), offsetof(TensorCopy, offsets) / 4 + i});
  if (copy.multicast) part_lists.push_back({list.data(), offsetof(TensorCopy, ranks) / 4});
  Op &op = emit(copy_tensor);
  op.a = map;
  op.b = shared;
  op.c = mbarrier;
  op.data = list.data();
  op.cache = cache();
}

void FunctionDecoder::decode_tensor_map() {
  const Words words = split(mnemonic().ordered);
  if (has(words, "cp_fenceproxy")) {
    if (operand(2).value != sizeof(TensorMap))
      throw UnsupportedInstruction{"has a size that is not supported"};
    const std::uint32_t to = full_address(operand(0)), from = full_address(operand(1));
    Op &op = emit(copy_tensor_map);
    op.a = to;
    op.b = from;
    op.cache = cache();
    emit(find("fence")->run);
    return;
  }
  constexpr std::string_view parts[] = {"global_address", "rank",           "box_dim",  "global_dim",
                                        "global_stride",  "element_stride", "elemtype", "interleave_layout",
                                        "swizzle_mode",   "fill_mode"};
  constexpr std::uint64_t immediate_ends[] = {13, 3, 4, 2};  // of the parts from elemtype on
  const auto found =
      std::find_if(std::begin(parts), std::end(parts), [&](auto part) { return has(words, part); });
  if (found == std::end(parts)) throw UnsupportedInstruction{"is not supported"};
  const auto part = static_cast<TensorMapPart>(found - parts);
  std::uint32_t dimension = 0, value = 0;
  if (part >= TensorMapPart::elemtype) {
    const auto immediate = static_cast<std::uint64_t>(operand(1).value);
    if (immediate >= immediate_ends[found - parts - static_cast<int>(TensorMapPart::elemtype)])
      throw UnsupportedInstruction{"has a value that is not supported"};
    value = constant(4, immediate);
  } else {
    const bool is_indexed = part >= TensorMapPart::box_dim;
    if (is_indexed) dimension = static_cast<std::uint32_t>(operand(1).value);
    if (dimension >= (part == TensorMapPart::global_stride ? 4 : most_tensor_dimensions))
      throw UnsupportedInstruction{"has no such dimension"};
    const Operand &given = operand(is_indexed ? 2 : 1);
    value = source(given, has(words, "b64") ? 8 : 4);
  }
  const std::uint32_t map = full_address(operand(0));
  Op &op = emit(replace_in_tensor_map);
  op.a = map;
  op.b = value;
  op.extra = static_cast<std::uint32_t>(part) | dimension << 4 | (has(words, "shared::cta") ? 256 : 0) |
             (has(words, "b64") ? 512 : 0);
  op.cache = cache();
}

}  // namespace cushim::ptx::execute
