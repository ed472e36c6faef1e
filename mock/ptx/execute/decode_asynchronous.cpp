// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, mbarrier objects and clusters.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "execute/asynchronous.hpp"
#include "execute/atomics.hpp"
#include "execute/count.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_copy() {
  const Words words = split(mnemonic().ordered);
  if (has(words, "ignore_oob")) throw UnsupportedInstruction{"is not supported"};
  if (has(words, "commit_group") || has(words, "wait_group") || has(words, "wait_all") ||
      has(words, "prefetch"))
    return;
  if (has(words, "tensor")) return decode_tensor_copy();
  if (has(words, "bulk")) return decode_bulk_copy();
  if (has(words, "mbarrier")) {
    // Without .noinc the arrival is expected in addition, so the number of pending arrivals does not change.
    if (has(words, "noinc")) emit("mbarrier.arrive", allocate(8), full_address(operand(0)), constant(4, 1));
    return;
  }
  const Address to = address(operand(0)), from = address(operand(1));
  if (to.slot != nullptr || from.slot != nullptr || from.bytes != 8)
    throw UnsupportedInstruction{"is not supported"};
  const std::uint32_t to_at = widened(to);
  const std::uint32_t size = static_cast<std::uint32_t>(operand(2).value);
  const bool partial = count() > 3 && operand(3).kind != OperandKind::sink;
  if (size > 16) throw UnsupportedInstruction{"is not supported"};
  // The operand after the size is the source's size, a predicate that replaces the source by zeros, or with
  // .L2::cache_hint and 8 bytes a cache policy.
  const unsigned bytes =
      partial && operand(3).kind == OperandKind::reg ? width(register_type(operand(3))) : 4;
  std::uint32_t source_size = partial && bytes == 4 ? source(operand(3), 4) : constant(4, size);
  if (bytes == 1) {
    const std::uint32_t whole = source_size, ignores = source(operand(3), 1);
    source_size = allocate(4);
    emit("selp.b32", source_size, constant(4, 0), whole, ignores);
  }
  count_access({.bytes = size, .space = CountedAccess::Space::shared, .writes = true}, to_at, to.offset);
  // Counts the whole size if the source's size is less.
  count_access({.bytes = size, .reads = true}, from.at, from.offset);
  Op &op =
      emit("copy_async", to_at, from.at, source_size, constant(8, static_cast<std::uint64_t>(to.offset)));
  op.immediate = from.offset;
  op.extra = size;
  op.cache = cache();
}

void FunctionDecoder::decode_bulk_copy() {
  const Words words = split(mnemonic().ordered);
  BulkCopy copy;
  copy.reduces = has(words, "reduce");
  if (copy.reduces) {
    copy.operation = atomic_operation(words);
    const auto type = atomic_kind(words.back());
    if (!type) throw UnsupportedInstruction{"is not supported"};
    copy.type = *type;
  }
  copy.signals = has(words, "mbarrier::complete_tx::bytes");
  copy.multicast = has(words, "multicast::cluster");
  // The first state space is the destination's.
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (*word == "global") copy.to_shared = false;
    if (word->substr(0, 6) == "shared") copy.to_shared = true;
  }
  copy.from_shared = !has(words, "global") || !copy.to_shared;
  const std::uint32_t to = full_address(operand(0)), from = full_address(operand(1));
  const std::uint32_t size = source(operand(2), 4);
  const std::uint32_t mbarrier = copy.signals ? full_address(operand(3)) : constant(8, 0);
  if (copy.multicast) copy.ranks = source(operand(4), 2);
  copy.masked = has(words, "cp_mask");
  if (copy.masked) copy.bytes = source(operand(count() - 1), 2);
  auto &list = code.words.emplace_back((sizeof copy + 7) / 8);
  std::memcpy(list.data(), &copy, sizeof copy);
  if (copy.multicast) part_lists.push_back({list.data(), offsetof(BulkCopy, ranks) / 4});
  if (copy.masked) part_lists.push_back({list.data(), offsetof(BulkCopy, bytes) / 4});
  Op &op = emit("bulk_copy", to, from, size, mbarrier);
  op.data = list.data();
  op.cache = cache();
}

void FunctionDecoder::decode_mbarrier() {
  const Words words = split(mnemonic().ordered);
  if (has(words, "pending_count")) return decode_plain();
  if (has(words, "test_wait") || has(words, "try_wait")) {
    const bool parity = has(words, "parity");
    const std::uint32_t phase = source(operand(2), parity ? 4 : 8), at = full_address(operand(1));
    emit(parity ? "mbarrier.test.4" : "mbarrier.test.8", destination(operand(0), 1), at, phase);
    return;
  }
  const bool drop = has(words, "arrive_drop");
  if (!drop && !has(words, "arrive")) {
    const std::uint32_t at = full_address(operand(0));
    const char *const key = has(words, "init")        ? "mbarrier.init"
                            : has(words, "inval")     ? "mbarrier.inval"
                            : has(words, "expect_tx") ? "mbarrier.expect_tx"
                                                      : "mbarrier.complete_tx";
    emit(key, 0, at, count() > 1 ? source(operand(1), 4) : constant(4, 0));
    return;
  }
  const std::uint32_t at = full_address(operand(1));
  const bool expects = has(words, "expect_tx");
  if (expects) emit("mbarrier.expect_tx", 0, at, source(operand(2), 4));
  const std::uint32_t arrivals = count() > 2 && !expects ? source(operand(2), 4) : constant(4, 1);
  emit(drop ? "mbarrier.arrive_drop" : "mbarrier.arrive", destination(operand(0), 8), at, arrivals);
}

void FunctionDecoder::complete_bytes(const Operand &mbarrier, unsigned bytes) {
  emit("mbarrier.complete_tx", 0, full_address(mbarrier), constant(4, bytes));
}

void FunctionDecoder::decode_cluster_barrier() {
  if (has(split(mnemonic().ordered), "arrive"))
    emit("cluster_arrive", 0);
  else
    emit(execute::cluster_wait);
}

void FunctionDecoder::decode_cluster_launch_control() {
  const Words words = split(mnemonic().ordered);
  if (has(words, "try_cancel")) {
    Op &op = emit("try_cancel", 0, full_address(operand(0)), full_address(operand(1)));
    op.extra = has(words, "multicast::cluster::all") ? 1 : 0;
    return;
  }
  // The parts of the response: x, y and z of a block, and whether a cluster was canceled.
  const std::uint32_t parts[5] = {4, allocate(4), allocate(4), allocate(4), allocate(4)};
  auto &list = code.words.emplace_back((sizeof parts + 7) / 8);
  std::memcpy(list.data(), parts, sizeof parts);
  for (std::size_t i = 1; i < 5; ++i) part_lists.push_back({list.data(), i});
  emit("unpack.16.4", 0, source(operand(1), 16)).data = list.data();
  const Operand &to = operand(0);
  if (has(words, "is_canceled")) {
    emit("setp.ne.b32", destination(to, 1), parts[4], constant(4, 0));
  } else if (to.kind == OperandKind::vector) {
    for (std::uint32_t i = 0; i < std::min(to.count, 3u); ++i)
      if (element(to, i).kind != OperandKind::sink)
        emit("mov.b32", destination(element(to, i), 4), parts[1 + i]);
  } else {
    const unsigned axis = has(words, "get_first_ctaid::x") ? 1 : has(words, "get_first_ctaid::y") ? 2 : 3;
    emit("mov.b32", destination(to, 4), parts[axis]);
  }
}

}  // namespace cushim::ptx::execute
