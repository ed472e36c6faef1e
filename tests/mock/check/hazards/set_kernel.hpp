// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/ptx_header.hpp"

namespace hazards {

// PTX of the kernel set(to): thread i writes i to the i-th of the 4-byte numbers at `to`.
inline constexpr const char *kSetKernel = CUSHIM_PTX_HEADER R"(
.visible .entry set(.param .u64 to)
{
  .reg .u32 %r<2>;
  .reg .u64 %d<3>;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d2, %d0, %d1;
  st.global.u32 [%d2], %r0;
  ret;
}
)";

}  // namespace hazards
