// SPDX-License-Identifier: Apache-2.0
// Records programs on the simulated driver and writes them as tests: write_tests FOLDER.
#include <cushim/replay/recorder.hpp>
#include <cushim/replay/shrink.hpp>
#include <cushim/sim/machine.hpp>

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/structures.hpp"

namespace {

using cushim::Driver;
using cushim::replay::Recording;
using cushim::replay::Shrunk;

void make_context(Driver &driver) {
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
}

void fail_after_others(Driver &driver) {
  make_context(driver);
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  for (int i = 0; i < 10; ++i) driver.cuEventCreate(&event, 0);
  driver.cuMemAlloc(&memory, 1000);
  driver.cuMemsetD32(memory + 4, 0xffffffff, 1000);
}

constexpr const char *kPtx =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u32 b) {\n"
    ".reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [b];\n"
    "ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd1], %r2; ret; }\n";

void copy_and_launch(Driver &driver, CUdeviceptr memory, CUstream stream) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  void *pinned = nullptr;
  static char registered[8192];
  const char sent[] = "bytes \0 \"quoted\" \xff";
  unsigned number = 12;
  driver.cuModuleLoadData(&module, kPtx);
  driver.cuModuleGetFunction(&kernel, module, "add");
#if CUDA_VERSION >= 12040  // older headers cannot ask for the sizes of parameters
  void *parameters[] = {&memory, &number};
  driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  const CUlaunchConfig config = cushim::test::launch_of_one_thread(stream, attribute);
  driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  const CUDA_KERNEL_NODE_PARAMS launch = cushim::test::node_of_one_thread(kernel, parameters);
  driver.cuGraphCreate(&graph, 0);
  driver.cuGraphAddKernelNode(&node, graph, nullptr, 0, &launch);
  driver.cuGraphDestroy(graph);
#endif
  cushim::test::PackedArguments packed(memory, number);
  driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, packed.extra);
  driver.cuMemcpyHtoD(memory + 8, sent, sizeof sent);
  const std::string uniform(1000, 'x');
  driver.cuMemcpyHtoD(memory + 100, uniform.data(), uniform.size());
  driver.cuMemHostAlloc(&pinned, 4096, 0);
  std::memset(pinned, 9, 100);
  driver.cuMemHostRegister(registered, sizeof registered, 0);
  driver.cuMemcpyHtoDAsync(memory, pinned, 100, stream);
  driver.cuMemcpyDtoHAsync(registered + 8, memory, 100, stream);
  driver.cuStreamSynchronize(stream);
  driver.cuMemcpy(memory, memory + 512, 16);
  std::vector<char> received(200);
  driver.cuMemcpyDtoH(received.data(), memory, received.size());
  driver.cuMemHostUnregister(registered);
  driver.cuModuleUnload(module);
}

void make_graph(Driver &driver, CUdeviceptr memory, CUstream stream, CUcontext context) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUgraphNode nodes[3] = {}, found[3] = {};
  std::size_t count = 3;
  const CUDA_MEMSET_NODE_PARAMS set = cushim::test::memset_node(memory, 7, 64, 1);
  driver.cuGraphCreate(&graph, 0);
  driver.cuGraphAddEmptyNode(&nodes[0], graph, nullptr, 0);
  driver.cuGraphAddMemsetNode(&nodes[1], graph, nodes, 1, &set, context);
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = [](void *) {};
  driver.cuGraphAddHostNode(&nodes[2], graph, nodes, 2, &host);
  driver.cuGraphGetNodes(graph, found, &count);
  driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
  driver.cuGraphLaunch(executable, stream);
  driver.cuStreamSynchronize(stream);
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(graph);
}

void pass_every_kind_of_argument(Driver &driver) {
  make_context(driver);
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUarray array = nullptr;
  CUevent event = nullptr;
  char name[64] = {};
  const char *text = nullptr;
  float time = 0;
  driver.cuCtxGetCurrent(&context);
  driver.cuDeviceGetName(name, sizeof name, 0);
  driver.cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text);
  driver.cuMemAlloc(&memory, 1 << 20);
  driver.cuMemsetD8(memory, 0, 1 << 20);
  driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -1);
  driver.cuEventCreate(&event, 0);
  driver.cuEventRecord(event, stream);
  driver.cuStreamWaitEvent(CU_STREAM_LEGACY, event, 0);
  driver.cuEventSynchronize(event);
  driver.cuEventElapsedTime(&time, event, event);
  CUDA_ARRAY_DESCRIPTOR descriptor{16, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1};
  driver.cuArrayCreate(&array, &descriptor);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory + 64;
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 64;
  copy.Height = 4;
  driver.cuMemcpy2D(&copy);
  const std::string rows(4 * 80, 'r');
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = rows.data();
  copy.srcPitch = 80;
  driver.cuMemcpy2D(&copy);
  std::string back(4 * 64, ' ');
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = back.data();
  copy.dstPitch = 64;
  driver.cuMemcpy2D(&copy);
  CUstreamBatchMemOpParams operations[2]{};
  operations[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  operations[0].writeValue.address = memory + 8;
  operations[0].writeValue.value64 = 0x123456789;
  operations[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = memory + 8;
  operations[1].waitValue.value = 0x23456789;
  driver.cuStreamBatchMemOp(stream, 2, operations, 0);
  driver.cuLaunchHostFunc(
      stream, [](void *) {}, nullptr);
  driver.cuStreamAddCallback(
      stream, [](CUstream, CUresult, void *) {}, nullptr, 0);
  copy_and_launch(driver, memory, stream);
  make_graph(driver, memory, stream, context);
  driver.cuMemAlloc(nullptr, 64);
  driver.cuEventDestroy(event);
  driver.cuArrayDestroy(array);
  driver.cuStreamDestroy(stream);
  driver.cuMemFree(memory);
}

void use_two_threads(Driver &driver) {
  make_context(driver);
  CUdeviceptr memory = 0;
  std::thread([&] {
    driver.cuMemAlloc(&memory, 64);  // this thread has no context
    make_context(driver);
    driver.cuMemAlloc(&memory, 64);
  }).join();
  driver.cuMemsetD8(memory, 1, 64);
}

Recording record(const std::string &file, void (*program)(Driver &)) {
  {
    const cushim::sim::Machine machine;
    const cushim::replay::Recorder recorder(machine.driver(), file);
    program(machine.driver());
  }
  return Recording::read(file);
}

Shrunk all_calls(const Recording &recording, bool is_on_one_thread) {
  Shrunk all{.is_on_one_thread = is_on_one_thread};
  all.calls.resize(recording.calls().size());
  std::iota(all.calls.begin(), all.calls.end(), std::size_t{0});
  return all;
}

void write(const std::string &file, const Recording &recording, const Shrunk &shrunk) {
  std::ofstream stream(file);
  write_test(recording, shrunk, stream);
}

}  // namespace

int main(int, char **arguments) {
  try {
    const std::string folder = std::string(arguments[1]) + "/";
    const Recording error = record(folder + "error.record", fail_after_others);
    write(folder + "error.cpp", error,
          cushim::replay::shrink(error, [&](const cushim::replay::PlayOptions &options) {
            const cushim::sim::Machine machine;
            return cushim::replay::play(error, machine.driver(), options);
          }));
    const Recording arguments_recording =
        record(folder + "every_argument.record", pass_every_kind_of_argument);
    write(folder + "every_argument.cpp", arguments_recording, all_calls(arguments_recording, true));
    const Recording threads = record(folder + "two_threads.record", use_two_threads);
    write(folder + "two_threads.cpp", threads, all_calls(threads, false));
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
