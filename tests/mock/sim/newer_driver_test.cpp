// SPDX-License-Identifier: Apache-2.0
// Entry points of drivers of CUDA 13.1 and newer, from the documentation: no real driver was asked.
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

}  // namespace
}  // namespace cushim::sim

#endif
