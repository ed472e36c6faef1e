// SPDX-License-Identifier: Apache-2.0
// Stream memory operations whose waits are satisfied at once, and operations that return an error.
#include <fmt/format.h>

#include "walk.hpp"

namespace differential {
namespace {

void write(Walk &w) {
  const unsigned k = w.a_buffer();
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream)) return;
  const auto address = w.address_in(k, w.dice.one_of<std::size_t>({0, 8, 4, 2}));
  const unsigned flags = w.dice.one_of({0U, 0U, 1U, 2U}), value = w.dice.below(1000);
  if (w.dice.once_in(2))
    CALL(w, cuStreamWriteValue32, stream, address, number(value), number(flags));
  else
    CALL(w, cuStreamWriteValue64, stream, address, Argument{cuuint64_t{value}, std::to_string(value)},
         number(flags));
}

// Waits for a condition that always holds: GEQ compares the signed difference with 0 here, and NOR with zero
// bits is never zero.
void wait(Walk &w) {
  const unsigned k = w.a_buffer();
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream)) return;
  const auto address = w.address_in(k, w.dice.one_of<std::size_t>({0, 8, 4, 2}));
  const unsigned flags = w.dice.one_of({3U, 3U, 3U | 1U << 30, 5U, 9U});
  if (w.dice.once_in(2))
    CALL(w, cuStreamWaitValue32, stream, address, number(0), number(flags));
  else
    CALL(w, cuStreamWaitValue64, stream, address, Argument{cuuint64_t{0}, "0"}, number(flags));
}

void nowhere(Walk &w) {
  const auto address = nowhere_at(w.dice.one_of<CUdeviceptr>({0, 16}));
  CALL(w, cuStreamWriteValue32, w.a_stream(), address, number(1), number(0));
}

void batch(Walk &w) {
  const unsigned k = w.a_buffer();
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream)) return;
  CUstreamBatchMemOpParams operations[3] = {};
  for (unsigned i = 0; i < 3; ++i) {
    operations[i].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[i].writeValue.address = w.b[k].address + 16 + 4 * i;
    operations[i].writeValue.value = w.dice.below(1000);
  }
  if (w.dice.once_in(3)) operations[2].writeValue.address += 1;
  if (w.dice.once_in(4)) operations[1].operation = static_cast<CUstreamBatchMemOpType>(99);
  const auto flags = number(w.dice.once_in(5) ? 1U : 0U);
  std::string declaration = "CUstreamBatchMemOpParams operations[3]{}";
  for (unsigned i = 0; i < 3; ++i)
    declaration += fmt::format(
        "; operations[{0}] = written(b[{1}] + {2}, {3}); operations[{0}].operation = "
        "CUstreamBatchMemOpType({4})",
        i, k, operations[i].writeValue.address - w.b[k].address, operations[i].writeValue.value,
        static_cast<int>(operations[i].operation));
  CALL(w, cuStreamBatchMemOp, stream, number(w.dice.below(4)),
       Argument{operations + 0, "operations", declaration}, flags);
}

}  // namespace

Choices memop_choices() {
  return Choices({
      {3, write},
      {2, wait},
      {1, nowhere},
      {2, batch},
  });
}

}  // namespace differential
