// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_runtime.hpp"

namespace cushim::sim {

namespace {

struct Definition {
  std::string_view name;
  std::string_view text;
};

// The handle of the grid (scope 1) is the address of the launch's workspace, which %envreg1 and %envreg2
// hold; it is 0 unless the launch is cooperative. The word at offset 4 of the workspace is a barrier: each
// synchronization adds 0x80000000 in total, so the highest bit changes when the last block arrives.
constexpr Definition kDefinitions[] = {{"cudaCGGetIntrinsicHandle", R"(
.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .pred %is_grid;
  .reg .b32 %scope, %high, %low;
  .reg .b64 %handle;
  ld.param.b32 %scope, [scope];
  mov.b32 %high, %envreg1;
  mov.b32 %low, %envreg2;
  mov.b64 %handle, {%low, %high};
  setp.eq.s32 %is_grid, %scope, 1;
  selp.b64 %handle, %handle, 0, %is_grid;
  st.param.b64 [handle], %handle;
  ret;
}
)"},
                                       {"cudaCGSynchronize", R"(
.visible .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %not_cooperative, %not_first, %waits;
  .reg .b32 %blocks, %size, %index, %added, %before, %now, %id;
  .reg .b64 %workspace;
  ld.param.b64 %workspace, [handle];
  setp.eq.s64 %not_cooperative, %workspace, 0;
  @%not_cooperative bra not_cooperative;
  bar.sync 0;
  mov.u32 %id, %tid.x;
  mov.u32 %now, %tid.y;
  or.b32 %id, %id, %now;
  mov.u32 %now, %tid.z;
  or.b32 %id, %id, %now;
  setp.ne.u32 %not_first, %id, 0;
  @%not_first bra done;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %size, %nctaid.y;
  mul.lo.u32 %blocks, %blocks, %size;
  mov.u32 %size, %nctaid.z;
  mul.lo.u32 %blocks, %blocks, %size;
  mov.u32 %index, %ctaid.x;
  mov.u32 %id, %ctaid.y;
  or.b32 %index, %index, %id;
  mov.u32 %id, %ctaid.z;
  or.b32 %index, %index, %id;
  sub.u32 %added, 0x80000001, %blocks;
  setp.ne.u32 %not_first, %index, 0;
  @%not_first mov.u32 %added, 1;
  membar.gl;
  atom.add.u32 %before, [%workspace + 4], %added;
wait:
  atom.or.b32 %now, [%workspace + 4], 0;
  xor.b32 %now, %now, %before;
  setp.ge.s32 %waits, %now, 0;
  @%waits bra wait;
  membar.gl;
done:
  bar.sync 0;
  st.param.b32 [error], 0;
  ret;
not_cooperative:
  st.param.b32 [error], 1;
  ret;
}
)"}};

}  // namespace

std::string device_runtime_for(std::string_view module) {
  std::string text;
  for (const Definition &definition : kDefinitions)
    if (module.find(definition.name) != std::string_view::npos) text += definition.text;
  return text;
}

}  // namespace cushim::sim
