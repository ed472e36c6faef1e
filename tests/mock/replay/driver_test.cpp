// SPDX-License-Identifier: Apache-2.0
// Programs that are answered from a recording.
#include <gmock/gmock.h>
#include <cushim/cushim.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "driver_of_recording.hpp"
#include "support/structures.hpp"

namespace cushim::test {
namespace {

using replay::Deviation;

TEST_F(DriverOfRecording, Gives_values_texts_and_data_as_recorded) {
  std::vector<std::string> names;
  expect_equal([&](Driver &driver) {
    make_context(driver);
    char name[64] = {};
    const char *error = nullptr;
    std::size_t free = 0, total = 0;
    CUdeviceptr memory = 0;
    std::vector<unsigned char> sent(100'000), received(sent.size());
    std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(0));
    EXPECT_EQ(driver.cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &error), CUDA_SUCCESS);
    EXPECT_STREQ(error, "CUDA_ERROR_INVALID_VALUE");
    EXPECT_EQ(driver.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&memory, sent.size()), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyHtoD(memory, sent.data(), sent.size()), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoH(received.data(), memory + 10, 1000), CUDA_SUCCESS);
    EXPECT_EQ(received[20], 30);
    EXPECT_EQ(driver.cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
    names.push_back(std::string(name) + std::to_string(free) + "/" + std::to_string(total));
  });
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0], names[1]);
}

TEST_F(DriverOfRecording, Answers_the_typed_wrappers) {
  const auto program = [](Driver &driver) {
    const ScopedDriver scope(driver);
    make_context(driver);
    const Stream stream = Stream::create();
    const TimedEvent begin = TimedEvent::create(), end = TimedEvent::create();
    begin.record(stream);
    end.record(stream);
    end.synchronize();
    EXPECT_GE((end - begin).count(), 0);
  };
  expect_equal(program);
}

TEST_F(DriverOfRecording, Pinned_memory_is_accessible_and_asynchronous_copies_write_it) {
  expect_equal([](Driver &driver) {
    make_context(driver);
    void *pinned = nullptr;
    CUdeviceptr memory = 0, alias = 0;
    CUstream stream = nullptr;
    char registered[64] = {};
    EXPECT_EQ(driver.cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemHostGetDevicePointer(&alias, pinned, 0), CUDA_SUCCESS);
    EXPECT_EQ(alias, reinterpret_cast<CUdeviceptr>(pinned));
    unsigned type = 0;
    CUdeviceptr base = 0;
    EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, alias), CUDA_SUCCESS);
    EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
    EXPECT_EQ(driver.cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, alias + 5),
              CUDA_SUCCESS);
    EXPECT_EQ(base, alias);
    EXPECT_EQ(driver.cuMemHostRegister(registered, sizeof registered, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
    std::memset(pinned, 7, 100);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, pinned, 100, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(registered, memory, 64, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(registered[63], 7);
    EXPECT_EQ(driver.cuMemHostUnregister(registered), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeHost(pinned), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
  });
}

#if CUDA_VERSION >= 13000
TEST_F(DriverOfRecording, Conditional_nodes_have_bodies) {
  expect_equal([](Driver &driver) {
    make_context(driver);
    CUcontext context = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    CUgraphConditionalHandle handle = 0;
    EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT),
              CUDA_SUCCESS);
    CUgraphNodeParams conditional = conditional_node(handle, CU_GRAPH_COND_TYPE_SWITCH, 2, context);
    EXPECT_EQ(driver.cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &conditional), CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(driver.cuGraphAddEmptyNode(&node, conditional.conditional.phGraph_out[i], nullptr, 0),
                CUDA_SUCCESS);
  });
}
#endif

TEST_F(DriverOfRecording, Several_attributes_of_memory_are_answered) {
  expect_equal([](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0, managed = 0, base = 0;
    CUcontext current = nullptr, context = nullptr;
    unsigned type = 0;
    int is_read_mostly = -1, location = -1;
    EXPECT_EQ(driver.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_CONTEXT};
    void *values[] = {&type, &base, &context};
    EXPECT_EQ(driver.cuPointerGetAttributes(3, attributes, values, memory + 5), CUDA_SUCCESS);
    EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(base, memory);
    EXPECT_EQ(context, current);
    CUmem_range_attribute of_range[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    void *range_values[] = {&is_read_mostly, &location};
    std::size_t sizes[] = {sizeof is_read_mostly, sizeof location};
    EXPECT_EQ(driver.cuMemRangeGetAttributes(range_values, sizes, of_range, 2, managed, 4096), CUDA_SUCCESS);
    EXPECT_EQ(is_read_mostly, 0);
    EXPECT_EQ(location, CU_DEVICE_INVALID);
  });
}

TEST_F(DriverOfRecording, Kernels_and_graphs_are_answered_without_running) {
  constexpr const char *kPtx =
      ".version 7.0\n.target sm_52\n.address_size 64\n.global .u32 counter;\n"
      ".visible .entry k(.param .u64 a, .param .u32 b) { ret; }\n";
  expect_equal([&](Driver &driver) {
    make_context(driver);
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode nodes[2] = {}, found[2] = {};
    CUdeviceptr memory = 0, counter = 0, again = 0;
    std::size_t count = 2, size = 0;
    unsigned number = 5;
    driver.cuMemAlloc(&memory, 4096);
    EXPECT_EQ(driver.cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetGlobal(&counter, &size, module, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetGlobal(&again, nullptr, module, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD8(counter, 0, size), CUDA_SUCCESS);
    CUdeviceptr end = memory + 16;
    void *parameters[] = {&end, &number};
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr),
              CUDA_SUCCESS);
    driver.cuGraphCreate(&graph, 0);
    driver.cuGraphAddEmptyNode(&nodes[0], graph, nullptr, 0);
    driver.cuGraphAddEmptyNode(&nodes[1], graph, nodes, 1);
    EXPECT_EQ(driver.cuGraphGetNodes(graph, found, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 2U);
    driver.cuGraphDestroy(graph);
    driver.cuModuleUnload(module);
  });
}

TEST_F(DriverOfRecording, Bytes_that_a_kernel_wrote_to_pinned_memory_are_there_after_the_wait) {
  constexpr const char *kPtx =
      ".version 7.0\n.target sm_52\n.address_size 64\n"
      ".visible .entry k(.param .u64 a) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], "
      "42; ret; }\n";
  expect_equal([&](Driver &driver) {
    make_context(driver);
    void *pinned = nullptr;
    const CUfunction kernel = kernel_of(driver, kPtx, "k");
    driver.cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_DEVICEMAP);
    void *parameters[] = {&pinned};
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(*static_cast<int *>(pinned), 42);
  });
}

TEST_F(DriverOfRecording, Rows_of_host_memory_are_compared_and_written_without_what_is_between_them) {
  const auto program = [](unsigned char value) {
    return [=](Driver &driver) {
      make_context(driver);
      CUdeviceptr memory = 0;
      std::vector<unsigned char> bytes(4 * 16, value);
      driver.cuMemAlloc(&memory, 1024);
      CUDA_MEMCPY2D copy = copy_of_plane(memory, bytes.data(), 10, 4);
      copy.srcPitch = copy.dstPitch = 16;
      if (driver.cuMemcpy2D(&copy) != CUDA_SUCCESS) return;
      std::swap(copy.srcMemoryType, copy.dstMemoryType);
      copy.srcDevice = memory;
      copy.dstHost = bytes.data();
      std::ranges::fill(bytes, static_cast<unsigned char>(100));
      EXPECT_EQ(driver.cuMemcpy2D(&copy), CUDA_SUCCESS);
      EXPECT_EQ(bytes[16], value);
      EXPECT_EQ(bytes[16 + 10], 100);
    };
  };
  expect_equal(program(7));
  const Deviation deviation = deviation_of(program(7), program(8));
  EXPECT_EQ(deviation.what, "pCopy");
  EXPECT_EQ(deviation.recorded, "byte 0 is 7");
  EXPECT_EQ(deviation.given, "8");
}

TEST_F(DriverOfRecording, Host_functions_run_before_a_call_that_waits_returns) {
  expect_equal([](Driver &driver) {
    make_context(driver);
    std::vector<int> order;
    struct Entry {
      std::vector<int> *order;
      int number;
    } first{&order, 1}, second{&order, 2};
    const auto append = [](void *data) {
      const auto *entry = static_cast<Entry *>(data);
      entry->order->push_back(entry->number);
    };
    EXPECT_EQ(driver.cuLaunchHostFunc(nullptr, append, &first), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLaunchHostFunc(nullptr, append, &second), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(order, (std::vector{1, 2}));
  });
}

TEST_F(DriverOfRecording, A_host_function_may_release_a_program_that_makes_no_call) {
  expect_equal([](Driver &driver) {
    make_context(driver);
    std::atomic<bool> is_released{false};
    driver.cuLaunchHostFunc(
        nullptr,
        [](void *data) {
          auto &released = *static_cast<std::atomic<bool> *>(data);
          released = true;
          released.notify_one();
        },
        &is_released);
    is_released.wait(false);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

TEST_F(DriverOfRecording, Looked_up_functions_are_those_of_the_recording) {
  const auto program = [](Driver &driver) {
    int version = 0;
    EXPECT_EQ(driver.cuDriverGetVersion(&version), CUDA_SUCCESS);
    EXPECT_EQ(version, driver.version());
    void *function = nullptr;
#if CUDA_VERSION >= 12000
    EXPECT_EQ(driver.cuGetProcAddress("cuDeviceGetCount", &function, version, 0, nullptr), CUDA_SUCCESS);
#else
    EXPECT_EQ(driver.cuGetProcAddress("cuDeviceGetCount", &function, version, 0), CUDA_SUCCESS);
#endif
    ASSERT_NE(function, nullptr);
    int count = 0;
    driver.cuInit(0);
    EXPECT_EQ(reinterpret_cast<CUresult (*)(int *)>(function)(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1);
  };
  expect_equal(program);
  replay::Driver driver(Recording::read(record(program)));
  int count = 0;
  EXPECT_EQ(driver.driver().cuInit(0), CUDA_SUCCESS) << "lookups are not matched";
  EXPECT_EQ(driver.driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(driver.calls_left(), 0U);
}

}  // namespace
}  // namespace cushim::test
