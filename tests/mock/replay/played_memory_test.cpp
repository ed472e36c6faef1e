// SPDX-License-Identifier: Apache-2.0
// Memory of the host in calls that are made again.
#include <gmock/gmock.h>
#include <cushim/mock/hook.hpp>
#include <cushim/replay/player.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "played.hpp"
#include "support/structures.hpp"

namespace cushim::test {
namespace {

TEST_F(Player, The_destination_of_an_asynchronous_copy_is_compared_after_it_was_waited_for) {
  const auto program = [](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    char pageable[8] = {};
    void *pinned = nullptr;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuMemAlloc(&memory, 8);
    driver.cuMemHostAlloc(&pinned, 8, 0);
    driver.cuMemsetD8Async(memory, 5, 8, stream);
    driver.cuMemcpyDtoHAsync(pageable, memory, 8, stream);
    driver.cuMemcpyDtoHAsync(pinned, memory, 8, stream);
    driver.cuStreamSynchronize(stream);
    driver.cuStreamSynchronize(stream);
  };
  for (const RecordData data : {RecordData::full, RecordData::hashes}) {
    const Recording recording = Recording::read(record(program, data));
    expect_equal(recording);
    const sim::Machine machine;
    auto sets = hook::replace<&cuMemsetD8Async>(
        machine.driver(), [](const auto &next, CUdeviceptr to, unsigned char, std::size_t size,
                             CUstream stream) { return next(to, 6, size, stream); });
    const Report report = play(recording, machine.driver());
    ASSERT_EQ(report.differences.size(), 1U);
    EXPECT_EQ(report.differences[0].call, recording.calls().size() - 2);
    EXPECT_EQ(report.differences[0].what, "the destination of an asynchronous copy");
  }
}

TEST_F(Player, The_destination_of_a_copy_is_not_compared_when_it_is_other_memory) {
  expect_equal([](Driver &driver) {
    const CUstream stream = Player::stream(driver);
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 16);
    driver.cuMemsetD8(memory, 5, 16);
    unsigned *const freed = pinned(driver);
    driver.cuMemcpyDtoHAsync(freed, memory, 16, stream);
    driver.cuMemFreeHost(freed);
    unsigned *const reused = pinned(driver);
    ASSERT_EQ(reused, freed);
    reused[0] = 1;
    driver.cuCtxSynchronize();
  });
}

// A real driver reuses pinned memory that was freed, with its bytes.
TEST_F(Player, New_pinned_memory_has_the_bytes_that_it_had_in_the_recorded_process) {
  const Recording recording = recording_of([](Driver &driver) {
    unsigned *const memory = pinned(driver);
    std::memset(memory, 0, 4096);
    driver.cuMemsetD8(reinterpret_cast<CUdeviceptr>(memory), 1, 16);
    driver.cuCtxSynchronize();
  });
  const sim::Machine machine;
  auto reuses = hook::replace<&cuMemHostAlloc>(
      machine.driver(), [](const auto &next, void **memory, std::size_t size, unsigned flags) {
        const CUresult result = next(memory, size, flags);
        std::memset(*memory, 3, size);
        return result;
      });
  EXPECT_TRUE(play(recording, machine.driver()).differences.empty());
}

TEST_F(Player, Copies_of_rows_of_pageable_memory_are_made_with_their_bytes) {
  const Recording recording = recording_of([](Driver &driver) {
    CUdeviceptr memory = 0;
    unsigned char sent[8 * 16], received[8 * 16] = {};
    std::iota(std::begin(sent), std::end(sent), static_cast<unsigned char>(0));
    driver.cuMemAlloc(&memory, 1024);
    CUDA_MEMCPY2D there = copy_of_plane(memory, sent, 10, 6);
    there.srcPitch = 16;
    there.srcXInBytes = 2;
    there.srcY = 1;
    there.dstPitch = 32;
    EXPECT_EQ(driver.cuMemcpy2D(&there), CUDA_SUCCESS);
    CUDA_MEMCPY3D back = copy_of_box(received, memory, 10, 3, 2);
    back.srcPitch = 32;
    back.srcHeight = 3;
    back.dstPitch = 16;
    back.dstHeight = 4;
    EXPECT_EQ(driver.cuMemcpy3D(&back), CUDA_SUCCESS);
    EXPECT_EQ(received[5 * 16 + 9], sent[5 * 16 + 11]);
  });
  expect_equal(recording);
  const sim::Machine machine;
  auto changes = hook::after<&cuMemcpy3D>(machine.driver(), [](CUresult result, const CUDA_MEMCPY3D *copy) {
    static_cast<unsigned char *>(copy->dstHost)[16] = 200;
    static_cast<unsigned char *>(copy->dstHost)[15] = 201;  // between rows
    return result;
  });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(text_of(report.differences[0]), "the host memory that it copied to: byte 10 is 34, now 200");
}

#if CUDA_VERSION >= 12040
TEST_F(Player, Launches_with_attributes_and_kernel_nodes_are_made_with_what_their_structures_lead_to) {
  expect_equal([](Driver &driver) {
    const CUstream in = stream(driver);
    CUdeviceptr memory = 0;
    CUgraphNode nodes[2] = {};
    CUcontext context = nullptr;
    unsigned more = 12;
    driver.cuCtxGetCurrent(&context);
    const CUfunction kernel = kernel_of(driver, kAdd, "add");
    driver.cuMemAlloc(&memory, 64);
    driver.cuMemsetD8(memory, 0, 64);
    void *parameters[] = {&memory, &more};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    const CUlaunchConfig config = launch_of_one_thread(in, attribute);
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr), CUDA_SUCCESS);
    const CUDA_KERNEL_NODE_PARAMS node = node_of_one_thread(kernel, parameters);
    CUstreamBatchMemOpParams operation = write_of_word(memory + 4, 77);
    CUDA_BATCH_MEM_OP_NODE_PARAMS operations{};
    operations.ctx = context;
    operations.count = 1;
    operations.paramArray = &operation;
    const CUgraph all = graph(driver);
    EXPECT_EQ(driver.cuGraphAddKernelNode(&nodes[0], all, nullptr, 0, &node), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddBatchMemOpNode(&nodes[1], all, nodes, 1, &operations), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(instantiated(driver, all), in), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
    EXPECT_EQ(word_at(driver, memory), 24U);
    EXPECT_EQ(word_at(driver, memory + 4), 77U);
  });
}
#endif

#if CUDA_VERSION >= 13000
TEST_F(Player, Nodes_that_are_added_by_their_type_are_made_with_what_their_structures_lead_to) {
  expect_equal([](Driver &driver) {
    CUdeviceptr memory = 0;
    CUgraphNode nodes[3] = {};
    CUcontext context = nullptr;
    unsigned more = 12, *pinned = nullptr;
    driver.cuCtxGetCurrent(&context);
    const CUfunction kernel = kernel_of(driver, kAdd, "add");
    driver.cuMemAlloc(&memory, 64);
    driver.cuMemAllocHost(reinterpret_cast<void **>(&pinned), 4096);
    pinned[0] = 30;
    const CUgraph all = graph(driver);
    CUgraphNodeParams copy{};
    copy.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    copy.memcpy.copyCtx = context;
    copy.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.memcpy.copyParams.srcHost = pinned;
    copy.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.memcpy.copyParams.dstDevice = memory;
    copy.memcpy.copyParams.WidthInBytes = 4;
    copy.memcpy.copyParams.Height = copy.memcpy.copyParams.Depth = 1;
    EXPECT_EQ(driver.cuGraphAddNode(&nodes[0], all, nullptr, nullptr, 0, &copy), CUDA_SUCCESS);
    void *parameters[] = {&memory, &more};
    CUgraphNodeParams launch{};
    launch.type = CU_GRAPH_NODE_TYPE_KERNEL;
    launch.kernel.func = kernel;
    launch.kernel.gridDimX = launch.kernel.gridDimY = launch.kernel.gridDimZ = 1;
    launch.kernel.blockDimX = launch.kernel.blockDimY = launch.kernel.blockDimZ = 1;
    launch.kernel.kernelParams = parameters;
    EXPECT_EQ(driver.cuGraphAddNode(&nodes[1], all, &nodes[0], nullptr, 1, &launch), CUDA_SUCCESS);
    CUstreamBatchMemOpParams operation{};
    operation.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = memory + 4;
    operation.writeValue.value = 77;
    CUgraphNodeParams operations{};
    operations.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    operations.memOp.ctx = context;
    operations.memOp.count = 1;
    operations.memOp.paramArray = &operation;
    EXPECT_EQ(driver.cuGraphAddNode(&nodes[2], all, &nodes[1], nullptr, 1, &operations), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(instantiated(driver, all), nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(word_at(driver, memory), 42U);
    EXPECT_EQ(word_at(driver, memory + 4), 77U);
  });
}

TEST_F(Player, Bodies_of_conditional_nodes_are_filled) {
  expect_equal([](Driver &driver) {
    CUcontext context = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    CUdeviceptr memory = 0;
    unsigned char byte = 0;
    driver.cuCtxGetCurrent(&context);
    driver.cuMemAlloc(&memory, 64);
    driver.cuMemsetD8(memory, 1, 64);
    driver.cuGraphCreate(&graph, 0);
    CUgraphConditionalHandle handle = 0;
    EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT),
              CUDA_SUCCESS);
    CUgraphNodeParams conditional = conditional_node(handle, CU_GRAPH_COND_TYPE_IF, 1, context);
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver.cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &conditional), CUDA_SUCCESS);
    const CUDA_MEMSET_NODE_PARAMS memset = memset_node(memory, 7, 64, 1);
    EXPECT_EQ(driver.cuGraphAddMemsetNode(&node, conditional.conditional.phGraph_out[0], nullptr, 0, &memset,
                                          context),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    driver.cuMemcpyDtoH(&byte, memory + 63, 1);
    EXPECT_EQ(byte, 7U);
  });
}
#endif

#if CUDA_VERSION >= 12040
TEST_F(Player,
       Memory_that_the_host_writes_between_calls_is_written_and_what_a_kernel_wrote_there_is_compared) {
  const auto program = [](Driver &driver) {
    make_context(driver);
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr managed = 0, memory = 0;
    unsigned *pinned = nullptr, more = 1;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuEventCreate(&event, 0);
    const CUfunction kernel = kernel_of(driver, kAdd, "add");
    driver.cuMemAlloc(&memory, 64);
    driver.cuMemHostAlloc(reinterpret_cast<void **>(&pinned), 4096, CU_MEMHOSTALLOC_DEVICEMAP);
    driver.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL);
    auto *const shared = reinterpret_cast<unsigned *>(managed);
    CUdeviceptr alias = reinterpret_cast<CUdeviceptr>(pinned);
    for (unsigned i = 1; i < 4; ++i) {
      pinned[0] = 10 * i;
      *shared = 100 * i;
      for (CUdeviceptr to : {alias, managed}) {
        void *parameters[] = {&to, &more};
        EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr),
                  CUDA_SUCCESS);
      }
      if (i == 2) {
        driver.cuEventRecord(event, stream);
        driver.cuEventSynchronize(event);
      } else {
        driver.cuStreamSynchronize(stream);
      }
      EXPECT_EQ(pinned[0], 10 * i + 1);
      EXPECT_EQ(*shared, 100 * i + 1);
      driver.cuMemcpyDtoD(memory, alias, 4);
      EXPECT_EQ(word_at(driver, memory), 10 * i + 1);
    }
  };
  const Recording recording = Recording::read(record(program));
  expect_equal(recording);
  const sim::Machine machine;
  auto launches = hook::replace<&cuLaunchKernel>(
      machine.driver(), [](const auto &, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, unsigned, CUstream, void **, void **) { return CUDA_SUCCESS; });
  const Report report = play(recording, machine.driver());
  ASSERT_FALSE(report.differences.empty());
  EXPECT_EQ(report.differences[0].what, "memory of the host that a device wrote");
  EXPECT_THAT(report.differences[0].recorded, testing::AnyOf("byte 0 is 11", "byte 0 is 101"));
  EXPECT_THAT(report.differences[0].replayed, testing::AnyOf("10", "100"));
}
#endif

}  // namespace
}  // namespace cushim::test
