// SPDX-License-Identifier: Apache-2.0
// Recordings played on another simulated machine.
#include <gmock/gmock.h>
#include <unistd.h>
#include <cushim/exact.hpp>
#include <cushim/mock/hook.hpp>
#include <cushim/replay/player.hpp>
#include <cushim/sim/external_semaphore.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "played.hpp"

namespace {

using cushim::Driver;
using cushim::replay::play;
using cushim::replay::RecordData;
using cushim::replay::Recording;
using cushim::replay::Report;
using testing::HasSubstr;
using testing::IsEmpty;

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
              testing::ElementsAre(testing::Field(&cushim::replay::NotReplayed::symbol, "cuLaunchKernel")));
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

TEST_F(Player, Attributes_of_pointers_are_compared_by_what_they_mean) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUdeviceptr memory = 0, managed = 0, base = 0, alone = 0;
    CUcontext context = nullptr;
    unsigned type = 0;
    unsigned long long id = 0;
    int is_read_mostly = 0;
    driver.cuMemAlloc(&memory, 100);
    driver.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL);
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *values[] = {&type, &context, &base, &id};
    EXPECT_EQ(driver.cuPointerGetAttributes(4, attributes, values, memory), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuPointerGetAttribute(&alone, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 1),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, memory), CUDA_SUCCESS);
    CUmem_range_attribute of_range[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY};
    void *range_values[] = {&is_read_mostly};
    std::size_t size = sizeof is_read_mostly;
    EXPECT_EQ(driver.cuMemRangeGetAttributes(range_values, &size, of_range, 1, managed, 4096), CUDA_SUCCESS);
  }));
  expect_equal(recording);
  const cushim::sim::Machine machine;
  auto changes = cushim::hook::after<&cuPointerGetAttributes>(
      machine.driver(), [](CUresult, unsigned, CUpointer_attribute *, void **values, CUdeviceptr) {
        *static_cast<unsigned *>(values[0]) = CU_MEMORYTYPE_HOST;
      });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].recorded, "value 0: 2");
  EXPECT_EQ(report.differences[0].replayed, "value 0: 1");
}

TEST_F(Player, Imports_of_external_semaphores_are_reported_with_the_calls_that_need_them) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    const cushim::sim::ExternalSemaphore timeline(cushim::sim::ExternalSemaphore::Type::timeline);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = timeline.new_descriptor();
    CUexternalSemaphore semaphore = nullptr;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    signal.params.fence.value = 1;
    EXPECT_EQ(driver.cuImportExternalSemaphore(&semaphore, &description), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  }));
  const Report report = play_elsewhere(recording);
  EXPECT_THAT(report.differences, IsEmpty());
  ASSERT_EQ(report.not_replayed.size(), 2U);
  EXPECT_EQ(report.not_replayed[0].symbol, "cuImportExternalSemaphore");
  EXPECT_EQ(report.not_replayed[0].reason, "it needs a file descriptor of another interface");
  EXPECT_EQ(report.not_replayed[1].symbol, "cuSignalExternalSemaphoresAsync");
  EXPECT_THAT(report.not_replayed[1].reason, HasSubstr("is unknown"));
}

TEST_F(Player, Handles_for_other_processes_are_exported_and_imports_are_reported) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr, imported = nullptr;
    int descriptor = -1;
    EXPECT_EQ(driver.cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemPoolExportToShareableHandle(&descriptor, pool,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    driver.cuMemPoolImportFromShareableHandle(
        &imported, reinterpret_cast<void *>(static_cast<std::intptr_t>(descriptor)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    close(descriptor);
  }));
  const Report report = play_elsewhere(recording);
  EXPECT_THAT(report.differences, IsEmpty());
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].symbol, "cuMemPoolImportFromShareableHandle");
}

TEST_F(Player, The_function_of_a_host_node_is_not_compared) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    int data = 0;
    const CUDA_HOST_NODE_PARAMS host{.fn = [](void *) {}, .userData = &data};
    CUDA_HOST_NODE_PARAMS found{};
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddHostNode(&node, graph, nullptr, 0, &host), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphHostNodeGetParams(node, &found), CUDA_SUCCESS);
  }));
  EXPECT_THAT(play_elsewhere(recording).differences, IsEmpty());
}

#if CUDA_VERSION >= 12000
TEST_F(Player, Tensor_maps_are_encoded_at_an_aligned_address) {
  expect_equal(Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUtensorMap map{};
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4096);
    for (int i = 0; i < 8; ++i) {  // the addresses of the replay are aligned by chance, too
      const cuuint64_t size = 64;
      const cuuint32_t box = 16, stride = 1;
      EXPECT_EQ(driver.cuTensorMapEncodeTiled(
                    &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, reinterpret_cast<void *>(memory), &size, &size,
                    &box, &stride, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                CUDA_SUCCESS);
    }
  })));
}
#endif

#if CUDA_VERSION >= 12080
TEST_F(Player, Batches_of_copies_of_pageable_memory_are_not_made) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    char from[16] = {};
    CUdeviceptr to = 0;
    std::size_t failed = 0;
    CUstream stream = nullptr;
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuMemAlloc(&to, sizeof from);
    CUDA_MEMCPY3D_BATCH_OP copy{};
    copy.src.type = copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copy.src.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(from);
    copy.dst.op.ptr.ptr = to;
    copy.extent = {sizeof from, 1, 1};
    copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    EXPECT_EQ(cushim::exact::cuMemcpy3DBatchAsync_v12080(driver)(1, &copy, &failed, 0, stream), CUDA_SUCCESS);
    driver.cuStreamSynchronize(stream);
  }));
  const Report report = play_elsewhere(recording);
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].reason, "the memory of src is unknown");
}
#endif

#if CUDA_VERSION >= 12000
TEST_F(Player, Tensor_maps_of_several_dimensions_are_encoded_with_all_of_them) {
  expect_equal(Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUtensorMap map{};
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 1 << 20);
    // The distance along the first dimension is not passed: it is the size of an element.
    const cuuint64_t sizes[] = {64, 32, 8}, distances[] = {64 * 4, 64 * 32 * 4};
    const cuuint32_t box[] = {16, 8, 4}, strides[] = {1, 1, 1};
    EXPECT_EQ(driver.cuTensorMapEncodeTiled(
                  &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, reinterpret_cast<void *>(memory), sizes,
                  distances, box, strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
    const int corners[] = {0};
    EXPECT_EQ(driver.cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3,
                                             reinterpret_cast<void *>(memory), sizes, distances, corners,
                                             corners, 16, 8, strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                             CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
  })));
}
#endif

// Makes a driver give the same handle to each function; a replay's driver does not. The handle works as that
// of the newest function in cuFuncGetAttribute, and nowhere else.
class OneHandleForFunctions {
 public:
  explicit OneHandleForFunctions(Driver &driver)
      : found_(cushim::hook::after<&cuModuleGetFunction>(
            driver, [this](CUresult, CUfunction *function, CUmodule,
                           const char *) { newest_ = std::exchange(*function, handle()); })),
        attribute_(cushim::hook::replace<&cuFuncGetAttribute>(
            driver, [this](const auto &next, int *value, CUfunction_attribute which, CUfunction) {
              return next(value, which, newest_);
            })) {}

  static CUfunction handle() { return reinterpret_cast<CUfunction>(0x5eed00); }

 private:
  CUfunction newest_ = nullptr;
  cushim::hook::Hook found_, attribute_;
};

TEST_F(Player, A_function_may_have_the_handle_of_one_of_an_unloaded_module) {
  const cushim::sim::Machine machine;
  Driver &recorded = machine.driver();
  const OneHandleForFunctions one_handle(recorded);
  {
    const cushim::replay::Recorder recorder(recorded, file_);
    make_context(recorded);
    for (int i = 1; i < 4; ++i) {
      const std::string ptx =
          ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry idle() .maxntid " +
          std::to_string(32 * i) + ", 1, 1 { ret; }\n";
      CUmodule module = nullptr;
      CUfunction function = nullptr;
      int threads = 0;
      EXPECT_EQ(recorded.cuModuleLoadData(&module, ptx.c_str()), CUDA_SUCCESS);
      EXPECT_EQ(recorded.cuModuleGetFunction(&function, module, "idle"), CUDA_SUCCESS);
      EXPECT_EQ(recorded.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                CUDA_SUCCESS);
      EXPECT_EQ(threads, 32 * i);
      EXPECT_EQ(recorded.cuModuleUnload(module), CUDA_SUCCESS);
    }
  }
  expect_equal(Recording::read(file_));
}

#if CUDA_VERSION >= 12000
TEST_F(Player, A_function_may_have_the_value_of_the_handle_of_a_kernel) {
  const cushim::sim::Machine machine;
  Driver &recorded = machine.driver();
  const OneHandleForFunctions one_handle(recorded);
  const auto kernel_found = cushim::hook::after<&cuLibraryGetKernel>(
      recorded, [&](CUresult, CUkernel *kernel, CUlibrary, const char *) {
        *kernel = reinterpret_cast<CUkernel>(OneHandleForFunctions::handle());
      });
  {
    const cushim::replay::Recorder recorder(recorded, file_);
    make_context(recorded);
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    int threads = 0;
    EXPECT_EQ(recorded.cuLibraryLoadData(&library, kAdd, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(recorded.cuLibraryGetKernel(&kernel, library, "add"), CUDA_SUCCESS);
    EXPECT_EQ(recorded.cuModuleLoadData(&module, kAdd), CUDA_SUCCESS);
    EXPECT_EQ(recorded.cuModuleGetFunction(&function, module, "add"), CUDA_SUCCESS);
    EXPECT_EQ(recorded.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
              CUDA_SUCCESS);
  }
  expect_equal(Recording::read(file_));
}
#endif

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
