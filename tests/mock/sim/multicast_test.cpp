// SPDX-License-Identifier: Apache-2.0
// Multicast objects of one process: their traffic, and what the simulated driver refuses, and reports.
// tests/conformance has the rest.
#include <cushim/sim/usage.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/machine_fixture.hpp"
#include "support/mapped_memory.hpp"
#include "support/structures.hpp"

#if CUDA_VERSION >= 12010

namespace cushim::sim {
namespace {

constexpr std::size_t kGranule = 2 << 20;

CUmemGenericAllocationHandle object(unsigned devices, unsigned long long handle_types = 0,
                                    std::size_t size = kGranule) {
  const CUmulticastObjectProp properties{
      .numDevices = devices, .size = size, .handleTypes = handle_types, .flags = 0};
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMulticastCreate(&made, &properties));
  return made;
}

CUmemGenericAllocationHandle physical(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMemCreate(&made, kGranule, &properties, 0));
  return made;
}

// A machine of two devices that keeps its reports.
struct Reporting {
  explicit Reporting(std::chrono::milliseconds patience = Options().patience)
      : running({.devices = "h200x2", .patience = patience, .report = [this](const std::string &text) {
                   reports.push_back(text);
                   ++count;
                   count.notify_all();
                 }}) {}

  std::vector<std::string> reports;
  std::atomic<int> count = 0;  // of the reports
  Running running;

  bool has_reported(const std::string &text) const {
    return std::ranges::any_of(reports, [&](const std::string &one) { return one.find(text) != one.npos; });
  }
};

TEST(Multicast, Binds_memory_of_each_device_of_the_team_once) {
  const Running running({.devices = "h200x2"});
  const auto handle = object(2);
  need(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_EQ(driver().cuMulticastAddDevice(handle, 0), CUDA_ERROR_INVALID_VALUE);
  need(driver().cuMulticastAddDevice(handle, 1));
  for (const int device : {0, 1}) {
    EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(device), 0, kGranule, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(device), 0, kGranule, 0),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(driver().cuMulticastUnbind(handle, 1, 0, kGranule), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMulticastUnbind(handle, 1, 0, kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(1), 0, kGranule, 0), CUDA_SUCCESS);
}

TEST(Multicast, Keeps_bound_memory_until_it_ends) {
  const Running running;
  const auto free_memory = [] {
    std::size_t free = 0, total = 0;
    need(driver().cuMemGetInfo(&free, &total));
    return free;
  };
  const auto handle = object(1), memory = physical(0);
  need(driver().cuMulticastAddDevice(handle, 0));
  need(driver().cuMulticastBindMem(handle, 0, memory, 0, kGranule, 0));
  const std::size_t before = free_memory();
  need(driver().cuMemRelease(memory));
  EXPECT_EQ(free_memory(), before);
  need(driver().cuMemRelease(handle));
  EXPECT_EQ(free_memory(), before + kGranule);
}

TEST(Multicast, Does_not_bind_memory_of_a_device_outside_the_team) {
  const Running running({.devices = "h200x2"});
  const auto handle = object(1);
  need(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(1), 0, kGranule, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(Multicast, Does_not_bind_private_memory_to_an_object_that_can_be_exported) {
  const Running running;
  const auto handle = object(1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  need(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(0), 0, kGranule, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(Multicast, A_binding_waits_until_all_devices_are_added) {
  Reporting machine(std::chrono::milliseconds(0));
  const auto handle = object(2), memory = physical(0);
  need(driver().cuMulticastAddDevice(handle, 0));
  std::atomic<bool> is_bound = false;
  std::thread binding([&] {
    EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, memory, 0, kGranule, 0), CUDA_SUCCESS);
    is_bound = true;
  });
  machine.count.wait(0);  // the wait has been reported
  EXPECT_FALSE(is_bound);
  EXPECT_EQ(driver().cuMulticastAddDevice(handle, 1), CUDA_SUCCESS);
  binding.join();
  EXPECT_TRUE(machine.has_reported(
      "cuMulticastBindMem waits until all devices of the multicast object have been added"));
}

// A machine of two devices with a mapped multicast object, and mappings of the memory that is bound to it.
struct Bound : Reporting {
  Bound() {
    const auto handle = object(2);
    for (const int device : {0, 1}) need(driver().cuMulticastAddDevice(handle, device));
    for (const int device : {0, 1}) {
      const auto memory = physical(device);
      need(driver().cuMulticastBindMem(handle, 0, memory, 0, kGranule, 0));
      own[device] = test::map(memory, kGranule);
      need(driver().cuMemsetD32(own[device], 1 + static_cast<unsigned>(device), 16));
    }
    at = test::map(handle, kGranule);
    need(driver().cuCtxSynchronize());
  }

  std::vector<std::uint32_t> words(int device) const {
    std::vector<std::uint32_t> words(4);
    need(driver().cuMemcpyDtoH(words.data(), own[device], 16));
    return words;
  }
  void expect_both(const std::vector<std::uint32_t> &wanted) const {
    EXPECT_EQ(words(0), wanted);
    EXPECT_EQ(words(1), wanted);
  }

  CUdeviceptr own[2] = {}, at = 0;
};

using Words = std::vector<std::uint32_t>;

TEST(Multicast, Copies_and_memsets_write_to_the_memory_of_each_device) {
  const Bound bound;
  const Words words{7, 8, 9, 10};
  EXPECT_EQ(driver().cuMemcpyHtoD(bound.at, words.data(), 16), CUDA_SUCCESS);
  bound.expect_both(words);
  EXPECT_EQ(driver().cuMemcpyDtoD(bound.at + 8, bound.own[0], 8), CUDA_SUCCESS);
  bound.expect_both({7, 8, 7, 8});
  EXPECT_EQ(driver().cuMemsetD32(bound.at + 4, 5, 2), CUDA_SUCCESS);
  bound.expect_both({7, 5, 5, 8});
  EXPECT_EQ(driver().cuMemsetD2D8(bound.at, 8, 0, 4, 2), CUDA_SUCCESS);
  bound.expect_both({0, 5, 0, 8});
}

TEST(Multicast, Copies_of_rows_and_slices_write_to_the_memory_of_each_device) {
  const Bound bound;
  const Words words{7, 8, 9, 10};
  CUDA_MEMCPY2D rows = test::copy_of_plane(bound.at, words.data(), 4, 2);
  rows.srcPitch = 8;
  rows.dstPitch = 12;
  EXPECT_EQ(driver().cuMemcpy2D(&rows), CUDA_SUCCESS);
  for (const int device : {0, 1}) {
    const unsigned old = 1 + static_cast<unsigned>(device);
    EXPECT_EQ(bound.words(device), (Words{7, old, old, 9}));
  }
  const CUdeviceptr source = bound.running.memory();
  need(driver().cuMemsetD32(source, 21, 1));
  need(driver().cuMemsetD32(source + 4, 22, 1));
  CUDA_MEMCPY3D slices = test::copy_of_box(bound.at + 4, source, 4, 1, 2);
  slices.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  slices.dstPitch = 4;
  slices.dstHeight = 2;
  EXPECT_EQ(driver().cuMemcpy3DAsync(&slices, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(bound.words(0), (Words{7, 21, 1, 22}));
  EXPECT_EQ(bound.words(1), (Words{7, 21, 2, 22}));
}

TEST(Multicast, A_copy_node_of_a_graph_writes_to_the_memory_of_each_device) {
  const Bound bound;
  const Words words{7, 8, 9, 10};
  const CUDA_MEMCPY3D copy = test::copy_of_box(bound.at, words.data(), 8, 2);
  CUcontext context = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  need(driver().cuCtxGetCurrent(&context));
  need(driver().cuGraphCreate(&graph, 0));
  EXPECT_EQ(driver().cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context), CUDA_SUCCESS);
  need(driver().cuGraphInstantiate(&executable, graph, 0));
  EXPECT_EQ(driver().cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  bound.expect_both(words);
}

TEST(Multicast, Copies_and_memsets_extend_over_several_bindings) {
  const Running running({.devices = "h200x2"});
  const auto handle = object(2, 0, 2 * kGranule);
  for (const int device : {0, 1}) need(driver().cuMulticastAddDevice(handle, device));
  std::vector<CUdeviceptr> parts;  // the low part of device 0 and of device 1, then the high parts
  for (const std::size_t offset : {std::size_t{0}, kGranule})
    for (const int device : {0, 1}) {
      const auto memory = physical(device);
      need(driver().cuMulticastBindMem(handle, offset, memory, 0, kGranule, 0));
      parts.push_back(test::map(memory, kGranule));
    }
  const CUdeviceptr at = test::map(handle, 2 * kGranule);
  const std::uint64_t bytes = 0x0807060504030201;
  EXPECT_EQ(driver().cuMemcpyHtoD(at + kGranule - 4, &bytes, sizeof bytes), CUDA_SUCCESS);
  EXPECT_EQ(word_at(parts[0] + kGranule - 4), 0x04030201u);
  EXPECT_EQ(word_at(parts[1] + kGranule - 4), 0x04030201u);
  EXPECT_EQ(word_at(parts[2]), 0x08070605u);
  EXPECT_EQ(word_at(parts[3]), 0x08070605u);
  EXPECT_EQ(driver().cuMemsetD32(at + kGranule - 4, 5, 2), CUDA_SUCCESS);
  EXPECT_EQ(word_at(parts[1] + kGranule - 4), 5u);
  EXPECT_EQ(word_at(parts[3]), 5u);
}

TEST(Multicast, Binds_memory_of_a_pool_until_it_is_freed) {
  Reporting machine;
  const auto handle = object(1, 0, 2 * kGranule);
  need(driver().cuMulticastAddDevice(handle, 0));
  CUdeviceptr memory = 0;
  need(driver().cuMemAllocAsync(&memory, 2 * kGranule, nullptr));
  ASSERT_EQ(memory % kGranule, 0u);
  EXPECT_EQ(driver().cuMulticastBindAddr(handle, 0, memory, 2 * kGranule, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMulticastBindAddr(handle, 0, memory, kGranule, 0), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr at = test::map(handle, 2 * kGranule);
  EXPECT_EQ(driver().cuMemsetD32(at + 8, 5, 1), CUDA_SUCCESS);
  EXPECT_EQ(word_at(memory + 8), 5u);
  need(driver().cuMemFreeAsync(memory, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(driver().cuMemsetD32(at + 8, 5, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(machine.has_reported("bytes of a multicast object are not bound to memory of each device"));
}

TEST(Multicast, Reports_memory_of_a_pool_for_an_object_that_can_be_exported) {
  Reporting machine;
  const auto handle = object(1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  need(driver().cuMulticastAddDevice(handle, 0));
  CUmemPoolProps properties = test::pool_of_device();
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  need(driver().cuMemPoolCreate(&pool, &properties));
  need(driver().cuMemAllocFromPoolAsync(&memory, kGranule, pool, nullptr));
  EXPECT_EQ(driver().cuMulticastBindAddr(handle, 0, memory, kGranule, 0), CUDA_ERROR_INVALID_VALUE);
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  need(driver().cuMemPoolCreate(&pool, &properties));
  need(driver().cuMemAllocFromPoolAsync(&memory, kGranule, pool, nullptr));
  EXPECT_EQ(driver().cuMulticastBindAddr(handle, 0, memory, kGranule, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(machine.has_reported("memory of pools in a multicast object that can be exported"));
}

TEST(Multicast, Multimem_instructions_of_a_kernel_reach_the_memory_of_each_device) {
  const Bound bound;
  const std::string ptx =
      ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 at) {\n"
      ".reg .b64 %rd<2>; .reg .b32 %r<4>;\nld.param.u64 %rd1, [at];\n"
      "multimem.ld_reduce.weak.global.add.u32 %r1, [%rd1];\n"
      "multimem.st.weak.global.u32 [%rd1+4], %r1;\n"
      "mov.u32 %r2, 10;\nmultimem.red.relaxed.sys.global.add.u32 [%rd1], %r2;\nret;\n}\n";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(driver().cuModuleLoadData(&module, ptx.c_str()));
  need(driver().cuModuleGetFunction(&function, module, "k"));
  CUdeviceptr at = bound.at;
  void *parameters[] = {&at};
  need(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(bound.words(0), (Words{11, 3, 1, 1}));
  EXPECT_EQ(bound.words(1), (Words{12, 3, 2, 2}));
}

TEST(Multicast, Reports_reads_of_a_mapping) {
  const Bound bound;
  std::uint32_t word = 0;
  EXPECT_EQ(driver().cuMemcpyDtoH(&word, bound.at, sizeof word), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(bound.has_reported("the documentation does not define this access to a multicast object"));
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = bound.at;
  rows.dstMemoryType = CU_MEMORYTYPE_HOST;
  rows.dstHost = &word;
  rows.WidthInBytes = sizeof word;
  rows.Height = 1;
  EXPECT_EQ(driver().cuMemcpy2D(&rows), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(Multicast, Reports_stream_memory_operations_on_a_mapping) {
  const Bound bound;
  EXPECT_EQ(driver().cuStreamWriteValue32(bound.running.stream(), bound.at, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(bound.has_reported("the documentation does not define this access to a multicast object"));
}

TEST(Multicast, Reports_writes_where_a_device_has_no_memory) {
  const Reporting machine;
  const auto handle = object(1);
  need(driver().cuMulticastAddDevice(handle, 0));
  const CUdeviceptr at = test::map(handle, kGranule);
  EXPECT_EQ(driver().cuMemsetD8(at, 1, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(machine.has_reported("bytes of a multicast object are not bound to memory of each device"));
  EXPECT_EQ(driver().cuMemUnmap(at, kGranule), CUDA_SUCCESS);
}

TEST(Multicast, Is_not_supported_by_a_device_without_it) {
  const Running running({.devices = "a100"});
  const CUmulticastObjectProp properties{.numDevices = 1, .size = kGranule, .handleTypes = 0, .flags = 0};
  CUmemGenericAllocationHandle made = 0;
  EXPECT_EQ(driver().cuMulticastCreate(&made, &properties), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace cushim::sim

#endif
