// SPDX-License-Identifier: Apache-2.0
// Entry points of drivers of CUDA 13.1 and newer, from the documentation: no real driver was asked.
#include <utility>
#include <vector>

#include "graph_calls.hpp"

#if CUDA_VERSION >= 12080

namespace cushim::sim {
namespace {

struct Newest : Running {
  Newest() : Running({.driver_version = 13050}) {}
};

TEST(NewerDriver, Launches_a_host_function_with_a_mode) {
  const Newest running;
  int calls = 0;
  const auto function = [](void *data) { ++*static_cast<int *>(data); };
  const auto &launch = exact::cuLaunchHostFunc_v13010(driver());
  need(launch(nullptr, function, &calls, 1));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(launch(nullptr, function, &calls, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST(NewerDriver, Copies_with_attributes) {
  const Newest running;
  const CUdeviceptr from = running.memory(), to = running.memory();
  need(driver().cuMemsetD32(from, 7, 4));
  CUmemcpyAttributes attributes{};
  EXPECT_EQ(driver().cuMemcpyWithAttributesAsync(to, from, 16, &attributes, nullptr),
            CUDA_ERROR_INVALID_VALUE)
      << "an order of access is needed";
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  need(driver().cuMemcpyWithAttributesAsync(to, from, 16, &attributes, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(word_at(to + 12), 7u);
  EXPECT_EQ(driver().cuMemcpyWithAttributesAsync(to, from, 16, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(NewerDriver, Copies_in_three_dimensions_with_attributes) {
  const Newest running;
  const CUdeviceptr from = running.memory(), to = running.memory();
  need(driver().cuMemsetD32(from, 9, 4));
  CUDA_MEMCPY3D_BATCH_OP copy{};
  copy.src.type = copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  copy.src.op.ptr.ptr = from;
  copy.dst.op.ptr.ptr = to;
  copy.extent = {16, 1, 1};
  copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  need(driver().cuMemcpy3DWithAttributesAsync(&copy, 0, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(word_at(to + 12), 9u);
  EXPECT_EQ(driver().cuMemcpy3DWithAttributesAsync(&copy, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(NewerDriver, Tells_the_multiprocessors_of_a_stream) {
  const Newest running;
  CUdevResource resource{};
  need(driver().cuStreamGetDevResource(running.stream(), &resource, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(resource.sm.smCount, 132u);
}

TEST(NewerDriver, Tells_the_numbers_and_the_graph_of_a_node) {
  const Newest running;
  const CUgraph graph = make_graph();
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  unsigned of_graph = 0, of_node = 0;
  unsigned long long of_tools = 0;
  CUgraph found = nullptr;
  need(driver().cuGraphGetId(graph, &of_graph));
  need(driver().cuGraphNodeGetLocalId(node, &of_node));
  need(driver().cuGraphNodeGetToolsId(node, &of_tools));
  need(driver().cuGraphNodeGetContainingGraph(node, &found));
  EXPECT_NE(of_graph, 0u);
  EXPECT_NE(of_node, 0u);
  EXPECT_NE(of_tools, 0u);
  EXPECT_EQ(found, graph);
}

TEST(NewerDriver, Binds_memory_of_the_named_device_to_a_multicast_object) {
  const Running running({.devices = "h200,h200", .driver_version = 13050});
  CUmulticastObjectProp object{};
  object.numDevices = 2;
  object.size = 2 << 20;
  CUmemGenericAllocationHandle multicast = 0, memory = 0;
  need(driver().cuMulticastCreate(&multicast, &object));
  need(driver().cuMulticastAddDevice(multicast, 0));
  need(driver().cuMulticastAddDevice(multicast, 1));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 1;
  need(driver().cuMemCreate(&memory, object.size, &properties, 0));
  const auto &bind = exact::cuMulticastBindMem_v13010(driver());
  EXPECT_EQ(bind(multicast, 0, 0, memory, 0, object.size, 0), CUDA_ERROR_INVALID_VALUE);
  need(bind(multicast, 1, 0, memory, 0, object.size, 0));
}

// ---- Residency of managed memory ----

using Locations = std::vector<std::pair<int, int>>;  // types and ids
Locations locations(CUdeviceptr address, std::size_t size, std::size_t summary, std::size_t sampling) {
  std::vector<CUmemLocation> found((size + summary - 1) / summary);
  need(driver().cuMemGetLocationInfo(address, size, summary, sampling, found.data()));
  Locations result;
  for (const CUmemLocation &one : found) result.emplace_back(one.type, one.id);
  return result;
}

constexpr std::pair kDevice1{1, 1}, kHost{2, 0}, kNowhere{0, 0};

TEST(NewerDriver, Tells_where_managed_memory_is) {
  const Running running({.devices = "h200x2", .driver_version = 13050});
  CUdeviceptr memory = 0;
  need(driver().cuMemAllocManaged(&memory, 16 << 10, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(locations(memory, 16 << 10, 16 << 10, 4096), Locations{kNowhere});
  reinterpret_cast<char *>(memory)[4096] = 1;
  EXPECT_EQ(locations(memory, 16 << 10, 4096, 0), (Locations{kNowhere, kHost, kNowhere, kNowhere}));
  need(exact::cuMemPrefetchAsync_v8000(driver())(memory, 12 << 10, 1, nullptr));
  EXPECT_EQ(locations(memory, 16 << 10, 16 << 10, 4096), Locations{kDevice1});
  EXPECT_EQ(locations(memory, 16 << 10, 12 << 10, 4096), (Locations{kDevice1, kNowhere}));
  need(exact::cuMemPrefetchAsync_v8000(driver())(memory, 8 << 10, CU_DEVICE_CPU, nullptr));
  EXPECT_EQ(locations(memory, 16 << 10, 4096, 0), (Locations{kHost, kHost, kDevice1, kNowhere}));
}

TEST(NewerDriver, Tells_where_pageable_memory_is) {
  const Newest running;
  std::vector<char> bytes(64 << 10, 1);
  EXPECT_EQ(locations(reinterpret_cast<CUdeviceptr>(bytes.data()), bytes.size(), bytes.size(), 4096),
            Locations{kHost});
}

TEST(NewerDriver, Tells_the_location_of_managed_and_pageable_memory_only) {
  const Newest running;
  CUmemLocation location{};
  const auto location_of = [&](CUdeviceptr address, std::size_t size, std::size_t summary,
                               std::size_t sampling) {
    return driver().cuMemGetLocationInfo(address, size, summary, sampling, &location);
  };
  EXPECT_EQ(location_of(running.memory(), 512, 512, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(location_of(reinterpret_cast<CUdeviceptr>(running.pinned()), 4, 4, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(location_of(4096, 4, 4, 0), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr memory = 0;
  need(driver().cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(location_of(memory, 4096, 4096, 4096), CUDA_SUCCESS);
  EXPECT_EQ(location_of(memory, 4097, 4096, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(location_of(memory, 4096, 4097, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(location_of(memory, 4096, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(location_of(memory, 4096, 2048, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemGetLocationInfo(memory, 4096, 4096, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

#if CUDA_VERSION >= 13000

// ---- Groups of multiprocessors; an H200 has 132 ----

struct Split : Newest {
  Split() { need(driver().cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM)); }

  CUresult into(std::vector<CushimSmResourceGroup> wanted, bool with_result = true) {
    groups.assign(wanted.size(), {});
    const auto count = static_cast<unsigned>(wanted.size());
    const CUresult code = driver().cuDevSmResourceSplit(with_result ? groups.data() : nullptr, count, &all,
                                                        &remainder, 0, wanted.data());
    counts.clear();
    for (const auto &one : wanted) counts.push_back(one.smCount);
    return code;
  }

  CUdevResource all{}, remainder{};
  std::vector<CUdevResource> groups;
  std::vector<unsigned> counts;  // as the call has written them
};

using Counts = std::vector<unsigned>;

constexpr unsigned kBackfill = 1;

CushimSmResourceGroup group(unsigned count, unsigned together, unsigned flags = 0) {
  CushimSmResourceGroup made{};
  made.smCount = count;
  made.coscheduledSmCount = together;
  made.flags = flags;
  return made;
}

TEST(NewerDriver, Splits_multiprocessors_into_groups) {
  Split split;
  EXPECT_EQ(split.into({group(10, 2), group(0, 0)}), CUDA_SUCCESS);
  EXPECT_EQ(split.counts, (Counts{10, 120}));
  EXPECT_EQ(split.groups[0].sm.smCount, 10u);
  EXPECT_EQ(split.groups[0].sm.smCoscheduledAlignment, 2u);
  EXPECT_EQ(split.groups[1].sm.smCount, 120u);
  EXPECT_EQ(split.remainder.sm.smCount, 2u);
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  EXPECT_EQ(driver().cuDevResourceGenerateDesc(&description, &split.groups[1], 1), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGreenCtxCreate(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
}

TEST(NewerDriver, Fills_up_a_group_of_multiprocessors) {
  Split split;
  EXPECT_EQ(split.into({group(8, 4), group(0, 2, kBackfill)}), CUDA_SUCCESS);
  EXPECT_EQ(split.counts, (Counts{8, 124}));
  EXPECT_EQ(split.remainder.type, CU_DEV_RESOURCE_TYPE_INVALID);
  EXPECT_EQ(split.into({group(12, 8)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split.into({group(12, 8, kBackfill)}), CUDA_SUCCESS);
}

TEST(NewerDriver, Finds_empty_groups_of_multiprocessors_without_a_result_only) {
  Split split;
  EXPECT_EQ(split.into({group(132, 2), group(0, 2)}), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(split.into({group(132, 2), group(0, 2)}, false), CUDA_SUCCESS);
  EXPECT_EQ(split.counts, (Counts{132, 0}));
  EXPECT_EQ(split.into({group(132, 2), group(2, 2)}), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

TEST(NewerDriver, Refuses_invalid_groups_of_multiprocessors) {
  Split split;
  EXPECT_EQ(split.into({}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split.into({group(3, 0)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split.into({group(134, 2)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split.into({group(64, 64)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split.into({group(8, 8, 2)}), CUDA_ERROR_NOT_SUPPORTED) << "a locality domain";
  auto wanted = group(8, 8);
  EXPECT_EQ(driver().cuDevSmResourceSplit(nullptr, 1, &split.all, nullptr, 1, &wanted),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuDevSmResourceSplit(nullptr, 1, nullptr, nullptr, 0, &wanted),
            CUDA_ERROR_INVALID_VALUE);
  const CUdevResource other{};
  EXPECT_EQ(driver().cuDevSmResourceSplit(nullptr, 1, &other, nullptr, 0, &wanted),
            CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

#endif

TEST(NewerDriver, Registers_callbacks_of_coredumps) {
  const Newest running;
  const auto callback = [](void *, int, CUdevice) {};
  CUcoredumpCallbackEntry_st *start = nullptr, *other = nullptr, *complete = nullptr;
  EXPECT_EQ(driver().cuCoredumpRegisterStartCallback(callback, nullptr, &start), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCoredumpRegisterStartCallback(callback, nullptr, &other), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCoredumpRegisterCompleteCallback(callback, nullptr, &complete), CUDA_SUCCESS);
  EXPECT_NE(start, other);
  EXPECT_EQ(driver().cuCoredumpRegisterStartCallback(callback, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCoredumpRegisterStartCallback(nullptr, nullptr, &other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuCoredumpRegisterCompleteCallback(nullptr, nullptr, &other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuCoredumpDeregisterStartCallback(complete), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuCoredumpDeregisterCompleteCallback(start), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuCoredumpDeregisterStartCallback(start), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCoredumpDeregisterStartCallback(start), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuCoredumpDeregisterCompleteCallback(complete), CUDA_SUCCESS);
}

TEST(NewerDriver, Gives_a_tensor_map_the_small_allocation_class) {
  constexpr auto automatic = CushimTensorMapAllocClass{}, small = static_cast<CushimTensorMapAllocClass>(1),
                 large = static_cast<CushimTensorMapAllocClass>(2),
                 unknown = static_cast<CushimTensorMapAllocClass>(3);
  const Newest running;
  CUtensorMap map{};
  for (const auto wanted : {automatic, small, large}) {
    CushimTensorMapAllocClass effective = large;
    EXPECT_EQ(driver().cuTensorMapSetAllocationClass(&map, wanted, &effective), CUDA_SUCCESS);
    EXPECT_EQ(effective, small);
  }
  EXPECT_EQ(driver().cuTensorMapSetAllocationClass(&map, large, nullptr), CUDA_SUCCESS);
  CushimTensorMapAllocClass effective = large;
  EXPECT_EQ(driver().cuTensorMapSetAllocationClass(nullptr, small, &effective), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(effective, small);
  EXPECT_EQ(driver().cuTensorMapSetAllocationClass(&map, unknown, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cushim::sim

#endif
