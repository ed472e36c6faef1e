// SPDX-License-Identifier: Apache-2.0
// Matchers for results and arguments of driver calls.
#pragma once

#include <gmock/gmock.h>

#include <cushim/error.hpp>
#include <cushim/mock/printers.hpp>

namespace cushim::mock {

// EXPECT_THAT(driver.cuInit(0), Succeeds());
inline testing::Matcher<CUresult> Succeeds() { return testing::Eq(CUDA_SUCCESS); }

// Matches if all of these flags are set, whatever the others: cuEventCreate(_,
// HasFlags(CU_EVENT_DISABLE_TIMING)).
MATCHER_P(HasFlags, flags,
          std::string(negation ? "lacks" : "has") + " flags " + testing::PrintToString(flags)) {
  return (static_cast<unsigned>(arg) & static_cast<unsigned>(flags)) == static_cast<unsigned>(flags);
}

// Matches code that throws a cushim::Error with this result: EXPECT_THAT([&] { stream.synchronize(); },
// Fails(code)).
inline auto Fails(CUresult code) {
  return testing::Throws<Error>(testing::Property("result", &Error::result, code));
}

// Match a batched memory operation, an element of cuStreamBatchMemOp's array.
MATCHER_P2(WritesValue32, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 && arg.writeValue.address == CUdeviceptr(address) &&
         arg.writeValue.value == cuuint32_t(value);
}
MATCHER_P2(WritesValue64, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 && arg.writeValue.address == CUdeviceptr(address) &&
         arg.writeValue.value64 == cuuint64_t(value);
}
MATCHER_P2(WaitsForValue32, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 && arg.waitValue.address == CUdeviceptr(address) &&
         arg.waitValue.value == cuuint32_t(value);
}
MATCHER_P2(WaitsForValue64, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 && arg.waitValue.address == CUdeviceptr(address) &&
         arg.waitValue.value64 == cuuint64_t(value);
}

}  // namespace cushim::mock
