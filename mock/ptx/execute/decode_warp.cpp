// SPDX-License-Identifier: Apache-2.0
// Barriers, and exchanges between the lanes of a warp.
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_barrier() {
  Words words = split(mnemonic().ordered);
  if (has(words, "warp")) {
    const std::uint32_t members = source(operand(0), 4);
    Op &op = emit(execute::rendezvous);
    op.guard = members;
    op.inner = find("deposit.none")->run;
    op.rounded = find("finish.none")->run;
    own_guard = true;
    return;
  }
  if (has(words, "cluster")) return decode_cluster_barrier();
  const bool arrive = has(words, "arrive");
  const bool reduces = has(words, "red");
  const std::size_t first = reduces ? 1 : 0;
  const std::uint32_t a = source(operand(first), 4);
  const bool counted = reduces ? count() > 3 : count() > 1;
  const std::uint32_t b = counted ? source(operand(first + 1), 4) : constant(4, 0);
  std::uint32_t c = 0, d = 0, kind = arrive ? 4 : 0;
  if (reduces) {
    kind = has(words, "popc") ? 1 : has(words, "and") ? 2 : 3;
    c = source(operand(count() - 1), 1);
    d = destination(operand(0), kind == 1 ? 4 : 1);
  }
  Op &op = emit(execute::barrier);
  op.a = a;
  op.b = b;
  op.c = c;
  op.d = d;
  op.extra = kind;
}

void FunctionDecoder::decode_warp() {
  Words words = split(mnemonic().ordered);
  const bool sync = take(words, "sync");
  const std::string_view name = words[0];
  const Operand &to = operand(0);
  const bool two = to.kind == OperandKind::pair;
  std::uint32_t members = 0, deposit = 0, a = 0, c = 0, d = 0, second = ~0u;
  std::string in = "deposit.4", key = joined(words);
  const std::size_t last = count() - 1;
  if (name == "shfl") {
    deposit = source(operand(1), 4);
    a = source(operand(2), 4);
    c = source(operand(3), 4);
    members = sync ? source(operand(4), 4) : 0;
    d = destination(two ? element(to, 0) : to, 4);
    if (two) second = destination(element(to, 1), 1);
  } else if (name == "vote") {
    deposit = source(operand(1), 1);
    in = "deposit.1";
    members = sync ? source(operand(last), 4) : 0;
    d = destination(to, words.back() == "b32" ? 4 : 1);
  } else if (name == "match") {
    const unsigned bytes = width_of(words.back());
    in = bytes == 8 ? "deposit.8" : "deposit.4";
    deposit = source(operand(1), bytes);
    members = source(operand(2), 4);
    d = destination(two ? element(to, 0) : to, 4);
    if (two) second = destination(element(to, 1), 1);
    words.pop_back();
    key = joined(words);
  } else if (name == "redux") {
    deposit = source(operand(1), 4);
    members = source(operand(2), 4);
    d = destination(to, 4);
    key = words[1] == "and" || words[1] == "or" || words[1] == "xor" ? "redux." + std::string{words[1]} : key;
  } else {
    in = "deposit.none";
    members = source(operand(1), 4);
    d = two && element(to, 0).kind != OperandKind::sink ? destination(element(to, 0), 4) : allocate(4);
    second = destination(two ? element(to, 1) : to, 1);
    key = "elect";
  }
  const LaneOperation *const finish = find("finish." + key);
  if (finish == nullptr) throw UnsupportedInstruction{"is not supported"};
  if (!sync) {
    members = allocate(4);
    emit(find("activemask")->run).d = members;
  }
  Op &op = emit(execute::rendezvous);
  op.guard = members;
  op.inner = find(in)->run;
  op.rounded = finish->run;
  op.a = a;
  op.b = deposit;
  op.c = c;
  op.d = d;
  op.immediate = second == ~0u ? -1 : static_cast<std::int64_t>(second);
  own_guard = true;
}

}  // namespace cushim::ptx::execute
