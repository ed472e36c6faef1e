// SPDX-License-Identifier: Apache-2.0
// Recordings played on another simulated machine.
#include <gmock/gmock.h>
#include <cushim/mock/hook.hpp>
#include <cushim/replay/player.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "recorded.hpp"

namespace {

using cushim::Driver;
using cushim::replay::NotReplayed;
using cushim::replay::play;
using cushim::replay::RecordData;
using cushim::replay::Recording;
using cushim::replay::Report;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kAdd =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u32 b) {\n"
    ".reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [b];\n"
    "ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd1], %r2; ret; }\n";

class Player : public Recorded {
 protected:
  // Plays on a machine whose handles and addresses are others.
  static Report play_elsewhere(const Recording &recording,
                               const std::function<void(Driver &)> &prepare = {}) {
    const cushim::sim::Machine machine;
    CUcontext context = nullptr;
    CUdeviceptr memory = 0;
    machine.driver().cuInit(0);
    machine.driver().cuDevicePrimaryCtxRetain(&context, 0);
    machine.driver().cuCtxSetCurrent(context);
    machine.driver().cuMemAlloc(&memory, 12 << 20);
    CUevent event = nullptr;
    for (int i = 0; i < 3; ++i) machine.driver().cuEventCreate(&event, 0);
    if (prepare) prepare(machine.driver());
    return play(recording, machine.driver());
  }

  static void expect_equal(const Recording &recording) {
    const Report report = play_elsewhere(recording);
    EXPECT_EQ(report.replayed, recording.calls().size());
    for (const auto &difference : report.differences)
      ADD_FAILURE() << cushim_entry(recording.calls()[difference.call].slot)->symbol << ": "
                    << difference.what << ": " << difference.recorded << ", now " << difference.replayed;
    for (const NotReplayed &one : report.not_replayed) ADD_FAILURE() << one.symbol << ": " << one.reason;
    EXPECT_FALSE(report.stuck);
  }
};

TEST_F(Player, Copies_give_the_same_bytes_through_other_addresses) {
  expect_equal(Recording::read(record([](Driver &driver) {
    make_context(driver);
    std::vector<unsigned char> bytes(100'000);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    CUdeviceptr memory = 0;
    void *pinned = nullptr;
    driver.cuMemAlloc(&memory, 2 * bytes.size());
    driver.cuMemHostAlloc(&pinned, bytes.size(), 0);
    std::memset(pinned, 9, bytes.size());
    driver.cuMemcpyHtoD(memory, bytes.data(), bytes.size());
    driver.cuMemcpyHtoD(memory + bytes.size(), pinned, bytes.size());
    driver.cuMemcpyDtoD(memory + 10, memory + bytes.size(), 50);
    driver.cuMemcpyDtoH(pinned, memory + 5, 100);
    driver.cuMemcpy(reinterpret_cast<CUdeviceptr>(bytes.data()), memory, bytes.size());
    driver.cuMemFreeHost(pinned);
    driver.cuMemFree(memory);
  })));
}

TEST_F(Player, Kernels_run_with_the_addresses_of_the_replay) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUdeviceptr memory = 0;
    unsigned number = 30, more = 12, sum = 0;
    driver.cuModuleLoadData(&module, kAdd);
    driver.cuModuleGetFunction(&kernel, module, "add");
    driver.cuMemAlloc(&memory, 4);
    driver.cuMemcpyHtoD(memory, &number, 4);
    void *parameters[] = {&memory, &more};
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    struct {
      CUdeviceptr memory;
      unsigned more;
    } packed{memory, more};
    std::size_t size = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
    driver.cuMemcpyDtoH(&sum, memory, 4);
    EXPECT_EQ(sum, 54U);
    driver.cuModuleUnload(module);
  }));
#if CUDA_VERSION >= 12040
  expect_equal(recording);
#else
  EXPECT_THAT(play_elsewhere(recording).not_replayed,
              testing::ElementsAre(testing::Field(&NotReplayed::symbol, "cuLaunchKernel")));
#endif
}

TEST_F(Player, Streams_events_graphs_and_host_functions_are_made_again) {
  expect_equal(Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUstream stream = nullptr, other = nullptr;
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode nodes[2] = {}, found[2] = {};
    CUdeviceptr memory = 0;
    std::size_t count = 2;
    float time = 0;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
    driver.cuEventCreate(&event, 0);
    driver.cuEventRecord(event, stream);
    driver.cuStreamWaitEvent(other, event, 0);
    driver.cuLaunchHostFunc(
        other, [](void *) {}, &count);
    driver.cuStreamSynchronize(other);
    driver.cuEventQuery(event);
    driver.cuEventElapsedTime(&time, event, event);
    driver.cuMemAllocAsync(&memory, 100, stream);
    driver.cuMemsetD8Async(memory, 1, 100, stream);
    driver.cuStreamWriteValue32(stream, memory + 4, 7, 0);
    driver.cuMemFreeAsync(memory, stream);
    driver.cuGraphCreate(&graph, 0);
    driver.cuGraphAddEmptyNode(&nodes[0], graph, nullptr, 0);
    driver.cuGraphAddEmptyNode(&nodes[1], graph, nodes, 1);
    driver.cuGraphGetNodes(graph, found, &count);
    driver.cuGraphDestroy(graph);
    driver.cuEventDestroy(event);
    driver.cuStreamDestroy(stream);
    driver.cuStreamDestroy(stream == nullptr ? nullptr : other);
  })));
}

TEST_F(Player, Threads_have_threads_with_their_own_current_context) {
  expect_equal(Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUcontext current = nullptr;
    std::thread([&] {
      driver.cuCtxGetCurrent(&current);
      make_context(driver);
      driver.cuCtxGetCurrent(&current);
    }).join();
    driver.cuCtxGetCurrent(&current);
    driver.cuCtxSetCurrent(nullptr);
    std::thread([&] { driver.cuCtxGetDevice(nullptr); }).join();
  })));
}

TEST_F(Player, The_first_call_with_another_result_is_named) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 64);
    driver.cuMemsetD8(memory, 1, 64);
    driver.cuMemFree(memory);
  }));
  const cushim::sim::Machine machine;
  auto fails = cushim::hook::replace<&cuMemsetD8>(
      machine.driver(), [](CUdeviceptr, unsigned char, std::size_t) { return CUDA_ERROR_LAUNCH_FAILED; });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].call, 4U);
  EXPECT_EQ(report.differences[0].what, "result");
  EXPECT_EQ(report.differences[0].recorded, "CUDA_SUCCESS");
  EXPECT_EQ(report.differences[0].replayed, "CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(Player, A_value_and_a_byte_that_differ_are_named) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0;
    int count = 0;
    char bytes[8] = {};
    driver.cuDeviceGetCount(&count);
    driver.cuMemAlloc(&memory, 8);
    driver.cuMemsetD8(memory, 5, 8);
    driver.cuMemcpyDtoH(bytes, memory, 8);
  }));
  const cushim::sim::Machine machine;
  auto counts = cushim::hook::after<&cuDeviceGetCount>(machine.driver(), [](CUresult result, int *count) {
    *count = 7;
    return result;
  });
  auto copies = cushim::hook::after<&cuMemcpyDtoH>(machine.driver(),
                                                   [](CUresult result, void *to, CUdeviceptr, std::size_t) {
                                                     static_cast<char *>(to)[3] = 6;
                                                     return result;
                                                   });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 2U);
  EXPECT_EQ(report.differences[0].what, "count");
  EXPECT_EQ(report.differences[0].recorded, "1");
  EXPECT_EQ(report.differences[0].replayed, "7");
  EXPECT_EQ(report.differences[1].recorded, "byte 3 is 5");
  EXPECT_EQ(report.differences[1].replayed, "6");
  EXPECT_THAT(play(recording, machine.driver(), {.ignored = {"cuDeviceGet*", "cuMemcpyDtoH"}}).differences,
              IsEmpty());
}

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
    const cushim::sim::Machine machine;
    auto sets = cushim::hook::replace<&cuMemsetD8Async>(
        machine.driver(), [](const auto &next, CUdeviceptr to, unsigned char, std::size_t size,
                             CUstream stream) { return next(to, 6, size, stream); });
    const Report report = play(recording, machine.driver());
    ASSERT_EQ(report.differences.size(), 1U);
    EXPECT_EQ(report.differences[0].call, recording.calls().size() - 2);
    EXPECT_EQ(report.differences[0].what, "the destination of an asynchronous copy");
  }
}

TEST_F(Player, Copies_of_rows_of_pageable_memory_are_made_with_their_bytes) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0;
    unsigned char sent[8 * 16], received[8 * 16] = {};
    std::iota(std::begin(sent), std::end(sent), static_cast<unsigned char>(0));
    driver.cuMemAlloc(&memory, 1024);
    CUDA_MEMCPY2D there{};
    there.srcMemoryType = CU_MEMORYTYPE_HOST;
    there.srcHost = sent;
    there.srcPitch = 16;
    there.srcXInBytes = 2;
    there.srcY = 1;
    there.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    there.dstDevice = memory;
    there.dstPitch = 32;
    there.WidthInBytes = 10;
    there.Height = 6;
    EXPECT_EQ(driver.cuMemcpy2D(&there), CUDA_SUCCESS);
    CUDA_MEMCPY3D back{};
    back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    back.srcDevice = memory;
    back.srcPitch = 32;
    back.srcHeight = 3;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = received;
    back.dstPitch = 16;
    back.dstHeight = 4;
    back.WidthInBytes = 10;
    back.Height = 3;
    back.Depth = 2;
    EXPECT_EQ(driver.cuMemcpy3D(&back), CUDA_SUCCESS);
    EXPECT_EQ(received[5 * 16 + 9], sent[5 * 16 + 11]);
  }));
  expect_equal(recording);
  const cushim::sim::Machine machine;
  auto changes =
      cushim::hook::after<&cuMemcpy3D>(machine.driver(), [](CUresult result, const CUDA_MEMCPY3D *copy) {
        static_cast<unsigned char *>(copy->dstHost)[16] = 200;
        static_cast<unsigned char *>(copy->dstHost)[15] = 201;  // between rows
        return result;
      });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].what, "the host memory that it copied to");
  EXPECT_EQ(report.differences[0].recorded, "byte 10 is 34");
  EXPECT_EQ(report.differences[0].replayed, "200");
}

#if CUDA_VERSION >= 12040
TEST_F(Player, Launches_with_attributes_and_kernel_nodes_are_made_with_what_their_structures_lead_to) {
  expect_equal(Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    CUgraphNode nodes[2] = {};
    CUcontext context = nullptr;
    unsigned more = 12, sum = 0;
    driver.cuCtxGetCurrent(&context);
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuModuleLoadData(&module, kAdd);
    driver.cuModuleGetFunction(&kernel, module, "add");
    driver.cuMemAlloc(&memory, 64);
    driver.cuMemsetD8(memory, 0, 64);
    void *parameters[] = {&memory, &more};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr), CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = kernel;
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = parameters;
    CUstreamBatchMemOpParams operation{};
    operation.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = memory + 4;
    operation.writeValue.value = 77;
    CUDA_BATCH_MEM_OP_NODE_PARAMS operations{};
    operations.ctx = context;
    operations.count = 1;
    operations.paramArray = &operation;
    driver.cuGraphCreate(&graph, 0);
    EXPECT_EQ(driver.cuGraphAddKernelNode(&nodes[0], graph, nullptr, 0, &node), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddBatchMemOpNode(&nodes[1], graph, nodes, 1, &operations), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    driver.cuMemcpyDtoH(&sum, memory, 4);
    EXPECT_EQ(sum, 24U);
    driver.cuMemcpyDtoH(&sum, memory + 4, 4);
    EXPECT_EQ(sum, 77U);
  })));
}
#endif

#if CUDA_VERSION >= 12040
TEST_F(Player,
       Memory_that_the_host_writes_between_calls_is_written_and_what_a_kernel_wrote_there_is_compared) {
  const auto program = [](Driver &driver) {
    make_context(driver);
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr managed = 0, memory = 0;
    unsigned *pinned = nullptr, more = 1, sum = 0;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuEventCreate(&event, 0);
    driver.cuModuleLoadData(&module, kAdd);
    driver.cuModuleGetFunction(&kernel, module, "add");
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
      driver.cuMemcpyDtoH(&sum, memory, 4);
      EXPECT_EQ(sum, 10 * i + 1);
    }
  };
  const Recording recording = Recording::read(record(program));
  expect_equal(recording);
  const cushim::sim::Machine machine;
  auto launches = cushim::hook::replace<&cuLaunchKernel>(
      machine.driver(), [](const auto &, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, unsigned, CUstream, void **, void **) { return CUDA_SUCCESS; });
  const Report report = play(recording, machine.driver());
  ASSERT_FALSE(report.differences.empty());
  EXPECT_EQ(report.differences[0].what, "memory of the host that a device wrote");
  EXPECT_THAT(report.differences[0].recorded, testing::AnyOf("byte 0 is 11", "byte 0 is 101"));
  EXPECT_THAT(report.differences[0].replayed, testing::AnyOf("10", "100"));
}
#endif

TEST_F(Player, Calls_whose_memory_was_not_recorded_are_listed_with_the_reason) {
  const Report report = play_elsewhere(Recording::read(record(
      [](Driver &driver) {
        make_context(driver);
        CUdeviceptr memory = 0;
        char bytes[8] = {};
        driver.cuMemAlloc(&memory, 8);
        for (int i = 0; i < 3; ++i) driver.cuMemcpyHtoD(memory, bytes, 8);
        driver.cuMemsetD8(memory, 5, 8);
        driver.cuMemcpyDtoH(bytes, memory, 8);
      },
      RecordData::hashes)));
  EXPECT_THAT(report.differences, IsEmpty()) << "the hash of the bytes that were read";
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].symbol, "cuMemcpyHtoD_v2");
  EXPECT_EQ(report.not_replayed[0].count, 3U);
  EXPECT_THAT(report.not_replayed[0].reason, HasSubstr("not recorded"));
}

TEST_F(Player, A_handle_of_a_call_that_failed_here_is_unknown) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUevent event = nullptr;
    driver.cuEventCreate(&event, 0);
    driver.cuEventRecord(event, nullptr);
  }));
  const cushim::sim::Machine machine;
  auto fails = cushim::hook::replace<&cuEventCreate>(
      machine.driver(), [](CUevent *, unsigned) { return CUDA_ERROR_OUT_OF_MEMORY; });
  const Report report = play(recording, machine.driver());
  EXPECT_EQ(report.differences.size(), 1U);
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].reason, "its event is unknown");
}

TEST_F(Player, A_context_that_a_function_of_an_export_table_made_current_is_made_current) {
  {
    const cushim::sim::Machine machine;
    Driver &driver = machine.driver();
    CUcontext context = nullptr, current = nullptr;
    const void *table = nullptr;
    // Installed before the recorder, so the recorder does not see the calls inside.
    auto finds = cushim::hook::replace<&cuGetExportTable>(
        driver, [](const void **, const CUuuid *) { return CUDA_SUCCESS; });
    auto hidden =
        cushim::hook::before<&cuDeviceGetCount>(driver, [&](int *) { driver.cuCtxSetCurrent(context); });
    const cushim::replay::Recorder recorder(driver, file_);
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuGetExportTable(&table, nullptr);
    int count = 0;
    driver.cuDeviceGetCount(&count);
    driver.cuCtxGetCurrent(&current);
    EXPECT_EQ(current, context);
    std::thread([&] {
      driver.cuDeviceGetCount(&count);
      CUdeviceptr memory = 0;
      EXPECT_EQ(driver.cuMemAlloc(&memory, 64), CUDA_SUCCESS);
    }).join();
  }
  const Recording recording = Recording::read(file_);
  const cushim::sim::Machine machine;
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_STREQ(cushim_entry(recording.calls()[report.differences[0].call].slot)->symbol, "cuGetExportTable");
}

}  // namespace
