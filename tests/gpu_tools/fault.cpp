// SPDX-License-Identifier: Apache-2.0
// A small program with a deliberate error for NVIDIA's tools to find: fault
// none|write|leak|call|uninitialized. Built twice: FAULT_CALL(cuX) is the function in cushim's table, or that
// of the drop-in library.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#ifdef FAULT_THROUGH_THE_TABLE
#include <cushim/driver.hpp>
#define FAULT_CALL(call) cushim::driver().call
#else
#define FAULT_CALL(call) ::call
#endif

namespace {

// One thread: out[index] = in[0] == 3 ? 1 : 2.
constexpr char kernels[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry put(.param .u64 out, .param .u64 in, .param .u32 index)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<6>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.u32 %r1, [index];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  ld.global.u32 %r2, [%rd4];
  setp.eq.s32 %p1, %r2, 3;
  selp.b32 %r3, 1, 2, %p1;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd5, %rd3, %rd5;
  st.global.u32 [%rd5], %r3;
  ret;
}
)";

void need(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s answered %d\n", what, static_cast<int>(result));
  std::exit(1);
}
#define NEED(call) need(FAULT_CALL(call), #call)

}  // namespace

int main(int argc, char **argv) {
  const std::string_view fault = argc == 2 ? argv[1] : "";
  if (fault != "none" && fault != "write" && fault != "leak" && fault != "call" && fault != "uninitialized") {
    std::fprintf(stderr, "fault none|write|leak|call|uninitialized\n");
    return 2;
  }
  constexpr std::size_t bytes = 256;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction put = nullptr;
  CUdeviceptr out = 0, in = 0, beyond = 0;
  NEED(cuInit(0));
  NEED(cuDevicePrimaryCtxRetain(&context, 0));
  NEED(cuCtxSetCurrent(context));
  NEED(cuModuleLoadData(&module, kernels));
  NEED(cuModuleGetFunction(&put, module, "put"));
  NEED(cuMemAlloc(&out, bytes));
  NEED(cuMemAlloc(&in, bytes));
  if (fault != "uninitialized") NEED(cuMemsetD8(in, 0, bytes));
  // The allocation has 64 words. Index 100 belongs to no other allocation, because the tools leave a gap
  // after each.
  unsigned index = fault == "write" ? 100 : 0;
  void *arguments[] = {&out, &in, &index};
  NEED(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  const CUresult done = FAULT_CALL(cuCtxSynchronize)();
  if (fault == "call") {
    const CUresult refused = FAULT_CALL(cuMemAlloc)(&beyond, 0);
    std::printf("cuMemAlloc of no bytes answered %d\n", static_cast<int>(refused));
  }
  std::printf("fault %s: cuCtxSynchronize answered %d\n", argv[1], static_cast<int>(done));
  if (done != CUDA_SUCCESS) return 0;  // an asynchronous error has made the context unusable
  if (fault != "leak") NEED(cuMemFree(out));
  NEED(cuMemFree(in));
  NEED(cuModuleUnload(module));
  NEED(cuDevicePrimaryCtxRelease(0));
  return 0;
}
