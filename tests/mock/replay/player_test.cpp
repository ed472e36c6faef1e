// SPDX-License-Identifier: Apache-2.0
// Recordings played on another simulated machine.
#include <gmock/gmock.h>
#include <cushim/mock/hook.hpp>
#include <cushim/replay/player.hpp>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "played.hpp"
#include "support/structures.hpp"

namespace cushim::test {
namespace {

using testing::IsEmpty;

TEST_F(Player, Copies_give_the_same_bytes_through_other_addresses) {
  expect_equal([](Driver &driver) {
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
  });
}

TEST_F(Player, Kernels_run_with_the_addresses_of_the_replay) {
  const Recording recording = recording_of([](Driver &driver) {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUdeviceptr memory = 0;
    unsigned number = 30, more = 12;
    driver.cuModuleLoadData(&module, kAdd);
    driver.cuModuleGetFunction(&kernel, module, "add");
    driver.cuMemAlloc(&memory, 4);
    driver.cuMemcpyHtoD(memory, &number, 4);
    void *parameters[] = {&memory, &more};
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    PackedArguments packed(memory, more);
    EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, packed.extra),
              CUDA_SUCCESS);
    EXPECT_EQ(word_at(driver, memory), 54U);
    driver.cuModuleUnload(module);
  });
#if CUDA_VERSION >= 12040
  expect_equal(recording);
#else
  EXPECT_THAT(play_elsewhere(recording).not_replayed,
              testing::ElementsAre(testing::Field(&NotReplayed::symbol, "cuLaunchKernel")));
#endif
}

TEST_F(Player, Streams_events_graphs_and_host_functions_are_made_again) {
  expect_equal([](Driver &driver) {
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
  });
}

TEST_F(Player, Attributes_of_pointers_are_compared_by_what_they_mean) {
  const Recording recording = recording_of([](Driver &driver) {
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
  });
  expect_equal(recording);
  const sim::Machine machine;
  auto changes = hook::after<&cuPointerGetAttributes>(
      machine.driver(), [](CUresult, unsigned, CUpointer_attribute *, void **values, CUdeviceptr) {
        *static_cast<unsigned *>(values[0]) = CU_MEMORYTYPE_HOST;
      });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].recorded, "value 0: 2");
  EXPECT_EQ(report.differences[0].replayed, "value 0: 1");
}

TEST_F(Player, The_function_of_a_host_node_is_not_compared) {
  const Recording recording = recording_of([](Driver &driver) {
    int data = 0;
    const CUDA_HOST_NODE_PARAMS host{.fn = [](void *) {}, .userData = &data};
    CUDA_HOST_NODE_PARAMS found{};
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddHostNode(&node, graph, nullptr, 0, &host), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphHostNodeGetParams(node, &found), CUDA_SUCCESS);
  });
  EXPECT_THAT(play_elsewhere(recording).differences, IsEmpty());
}

#if CUDA_VERSION >= 12000
TEST_F(Player, Tensor_maps_are_encoded_at_an_aligned_address) {
  expect_equal([](Driver &driver) {
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
  });
}
#endif

#if CUDA_VERSION >= 12000
TEST_F(Player, Tensor_maps_of_several_dimensions_are_encoded_with_all_of_them) {
  expect_equal([](Driver &driver) {
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
  });
}
#endif

// Makes a driver give the same handle to each function; a replay's driver does not. The handle works as that
// of the newest function in cuFuncGetAttribute, and nowhere else.
class OneHandleForFunctions {
 public:
  explicit OneHandleForFunctions(Driver &driver)
      : found_(hook::after<&cuModuleGetFunction>(
            driver, [this](CUresult, CUfunction *function, CUmodule,
                           const char *) { newest_ = std::exchange(*function, handle()); })),
        attribute_(hook::replace<&cuFuncGetAttribute>(
            driver, [this](const auto &next, int *value, CUfunction_attribute which, CUfunction) {
              return next(value, which, newest_);
            })) {}

  static CUfunction handle() { return reinterpret_cast<CUfunction>(0x5eed00); }

 private:
  CUfunction newest_ = nullptr;
  hook::Hook found_, attribute_;
};

TEST_F(Player, A_function_may_have_the_handle_of_one_of_an_unloaded_module) {
  const sim::Machine machine;
  Driver &recorded = machine.driver();
  const OneHandleForFunctions one_handle(recorded);
  {
    const replay::Recorder recorder(recorded, file_);
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
  const sim::Machine machine;
  Driver &recorded = machine.driver();
  const OneHandleForFunctions one_handle(recorded);
  const auto kernel_found =
      hook::after<&cuLibraryGetKernel>(recorded, [&](CUresult, CUkernel *kernel, CUlibrary, const char *) {
        *kernel = reinterpret_cast<CUkernel>(OneHandleForFunctions::handle());
      });
  {
    const replay::Recorder recorder(recorded, file_);
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
  expect_equal([](Driver &driver) {
    CUcontext current = nullptr;
    std::thread([&] {
      driver.cuCtxGetCurrent(&current);
      make_context(driver);
      driver.cuCtxGetCurrent(&current);
    }).join();
    driver.cuCtxGetCurrent(&current);
    driver.cuCtxSetCurrent(nullptr);
    std::thread([&] { driver.cuCtxGetDevice(nullptr); }).join();
  });
}

}  // namespace
}  // namespace cushim::test
