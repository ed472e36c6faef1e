// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <cstdlib>

namespace conformance {

const std::string kCode = kHeader + R"(
.visible .global .align 4 .u32 number = 7;
.visible .global .align 8 .b8 table[24] = {1, 2, 3};
.global .align 4 .u32 internal = 5;
.visible .const .align 4 .u32 constant = 11;
.visible .global .align 8 .u64 pointer = number;
.shared .align 4 .b8 shared[16];
.extern .shared .align 16 .b8 dynamic[];
.visible .func (.param .b32 result) device_function(.param .b32 a) {
  .reg .u32 x;
  ld.param.u32 x, [a];
  st.param.b32 [result], x;
  ret;
}
.visible .entry empty() { ret; }
.entry internal_kernel() { ret; }
.visible .entry write(.param .u64 to, .param .u32 value) {
  .reg .u32 x; .reg .u64 a;
  ld.param.u64 a, [to];
  ld.param.u32 x, [value];
  st.global.u32 [a], x;
  ret;
}
.visible .entry count_threads(.param .u64 to) {
  .reg .u32 x; .reg .u64 a;
  ld.param.u64 a, [to];
  red.global.add.u32 [a], 1;
  ret;
}
.visible .entry bounded(.param .u64 to) .maxntid 64, 2, 1 {
  .shared .align 4 .b8 mine[100];
  .reg .u32 x; .reg .u64 a;
  ld.param.u64 a, [to];
  mov.u32 x, %tid.x;
  st.shared.u32 [mine], x;
  ld.shared.u32 x, [mine];
  st.global.u32 [a], x;
  ret;
}
.visible .entry exact(.param .align 8 .b8 structure[20], .param .u8 character, .param .u64 last) .reqntid 32 { ret; }
.visible .entry dynamic_size(.param .u64 to) {
  .reg .u32 x; .reg .u64 a;
  ld.param.u64 a, [to];
  mov.u32 x, %dynamic_smem_size;
  st.shared.u32 [dynamic], x;
  ld.shared.u32 x, [dynamic];
  st.global.u32 [a], x;
  ret;
}
.visible .entry read_variables(.param .u64 to) {
  .reg .u32 x, y; .reg .u64 a;
  ld.param.u64 a, [to];
  ld.global.u32 x, [number];
  ld.const.u32 y, [constant];
  add.u32 x, x, y;
  ld.global.u32 y, [internal];
  add.u32 x, x, y;
  st.global.u32 [a], x;
  ret;
}
.visible .entry beyond_memory() { .reg .u64 a; mov.u64 a, 16; st.global.u32 [a], 1; ret; }
.visible .entry misaligned(.param .u64 to) { .reg .u64 a; ld.param.u64 a, [to]; st.global.u32 [a + 1], 1; ret; }
.visible .entry traps() { trap; ret; }
)";

void OnModule::SetUp() {
  OnDevice::SetUp();
  if (HasFatalFailure() || IsSkipped()) return;
  NEED(driver().cuModuleLoadData(&module, kCode.c_str()));
}

void OnModule::TearDown() {
  if (module != nullptr) driver().cuModuleUnload(module);
  OnDevice::TearDown();
}

CUfunction OnModule::kernel(const char *name) {
  CUfunction function = nullptr;
  NEED(driver().cuModuleGetFunction(&function, module, name));
  return function;
}

CUresult OnModule::load(const std::string &text) {
  CUmodule made = nullptr;
  const CUresult code = driver().cuModuleLoadData(&made, text.c_str());
  if (code == CUDA_SUCCESS) driver().cuModuleUnload(made);
  return code;
}

std::string OnModule::log_of(const std::string &text) {
  std::string log(4096, '\0');
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule made = nullptr;
  if (driver().cuModuleLoadDataEx(&made, text.c_str(), 2, names, values) == CUDA_SUCCESS)
    driver().cuModuleUnload(made);
  log.resize(reinterpret_cast<std::size_t>(values[1]));
  return log;
}

CUresult OnModule::launch(CUfunction function, std::vector<void *> arguments, unsigned grid, unsigned block,
                          unsigned dynamic_shared) {
  const CUresult code = driver().cuLaunchKernel(function, grid, 1, 1, block, 1, 1, dynamic_shared, nullptr,
                                                arguments.empty() ? nullptr : arguments.data(), nullptr);
  const CUresult after = driver().cuCtxSynchronize();
  return code != CUDA_SUCCESS ? code : after;
}

unsigned OnModule::word(CUdeviceptr address) {
  unsigned value = 0;
  NEED(driver().cuMemcpyDtoH(&value, address, sizeof value));
  return value;
}

#if CUDA_VERSION >= 12040
void OnLibrary::SetUp() {
  OnModule::SetUp();
  if (HasFatalFailure() || IsSkipped()) return;
  NEED(driver().cuLibraryLoadData(&library, kCode.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
}

void OnLibrary::TearDown() {
  if (library != nullptr) driver().cuLibraryUnload(library);
  OnModule::TearDown();
}

CUkernel OnLibrary::kernel_of_library(const char *name) {
  CUkernel found = nullptr;
  NEED(driver().cuLibraryGetKernel(&found, library, name));
  return found;
}
#endif

CUlaunchConfig OnClusters::configuration(unsigned cluster, unsigned block, unsigned shared, unsigned grid) {
  CUlaunchConfig made{};
  made.gridDimX = grid;
  made.gridDimY = made.gridDimZ = 1;
  made.blockDimX = block;
  made.blockDimY = made.blockDimZ = 1;
  made.sharedMemBytes = shared;
  if (cluster != 0) {
    attribute_.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute_.value.clusterDim.x = cluster;
    attribute_.value.clusterDim.y = attribute_.value.clusterDim.z = 1;
    made.attrs = &attribute_;
    made.numAttrs = 1;
  }
  return made;
}

std::string words(std::int64_t number) {
  return (number < 0 ? "minus_" : "") + std::to_string(std::abs(number));
}

}  // namespace conformance
