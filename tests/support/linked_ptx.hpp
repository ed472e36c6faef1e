// SPDX-License-Identifier: Apache-2.0
// PTX of two inputs of a link.
#pragma once

#include <string>

namespace cushim::test {

inline const std::string kPtxHeader = ".version 7.8\n.target sm_52\n.address_size 64\n";

// plus_37(a): returns a + 37.
inline const std::string kCallee = kPtxHeader + R"(
.visible .func (.param .b32 result) plus_37(.param .b32 a) {
  .reg .u32 x;
  ld.param.b32 x, [a];
  add.u32 x, x, 37;
  st.param.b32 [result], x;
  ret;
}
)";

// linked(to): stores plus_37(5).
inline const std::string kCaller = kPtxHeader + R"(
.extern .func (.param .b32 result) plus_37(.param .b32 a);
.visible .entry linked(.param .u64 to) {
  .reg .u32 x; .reg .u64 at;
  .param .b32 argument;
  .param .b32 result;
  ld.param.u64 at, [to];
  st.param.b32 [argument], 5;
  call (result), plus_37, (argument);
  ld.param.b32 x, [result];
  st.global.u32 [at], x;
  ret;
}
)";

}  // namespace cushim::test
