// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_memop_calls(Calls &calls) {
  // Memory contains the 32-bit number 1, so that no wait for this number blocks permanently. NOR (3) would,
  // and EQ (1) of 64 bits.
  CALL(cuStreamWaitValue32, o.stream(), o.memory(), fixed(1U), 0U).without({"flags=3"});
  CALL(cuStreamWaitValue64, o.stream(), o.memory(), fixed(std::uint64_t{1}), 0U)
      .without({"flags=1", "flags=3"});
  CALL(cuStreamWriteValue32, o.stream(), o.memory(), 0U, 0U);
  CALL(cuStreamWriteValue64, o.stream(), o.memory(), fixed(std::uint64_t{0}), 0U);
  CALL(cuStreamBatchMemOp, o.stream(), Count{1}, o.in(write_value(o), write_value_fields()), 0U)
      .without({"paramArray=null"});  // the real driver crashes
  CALL_AS("wait", cuStreamBatchMemOp, o.stream(), Count{1}, o.in(wait_value(o), wait_value_fields()), 0U)
      .without({"paramArray=null", "paramArray.waitValue.flags=3"});
}

}  // namespace arguments
