// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs that allocate and free memory.
#include <algorithm>
#include <utility>

#include "graph_calls.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

struct AllocationNode {
  CUgraphNode node = nullptr;
  CUdeviceptr address = 0;
};

AllocationNode add_allocation(CUgraph graph, std::size_t bytes = 1024) {
  AllocationNode made;
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = test::allocation_node(bytes);
  need(driver().cuGraphAddMemAllocNode(&made.node, graph, nullptr, 0, &parameters));
  made.address = parameters.dptr;
  return made;
}

cuuint64_t attribute(CUgraphMem_attribute wanted) {
  cuuint64_t value = 0;
  need(driver().cuDeviceGetGraphMemAttribute(0, wanted, &value));
  return value;
}

TEST(GraphMemory, Is_used_and_reserved_from_the_first_launch_until_it_is_trimmed) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUdeviceptr memory = add_allocation(graph).address;
  const CUgraphExec executable = instantiate(graph);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  need(driver().cuGraphLaunch(executable, nullptr));
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 32u << 20);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 32u << 20);
  need(driver().cuMemFree(memory));
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 32u << 20);
  need(driver().cuDeviceGraphMemTrim(0));
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 32u << 20);
  cuuint64_t zero = 0;
  need(driver().cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0u);
}

TEST(GraphMemory, That_is_allocated_outlives_the_graph) {
  const Running running;
  const std::size_t before = free_memory();
  const CUgraph graph = make_graph();
  const CUdeviceptr memory = add_allocation(graph).address;
  const CUgraphExec executable = instantiate(graph);
  need(driver().cuGraphLaunch(executable, nullptr));
  need(driver().cuGraphExecDestroy(executable));
  need(driver().cuGraphDestroy(graph));
  need(driver().cuDeviceGraphMemTrim(0));
  need(driver().cuMemsetD32(memory, 7, 1));
  EXPECT_EQ(word_at(memory), 7u);
  need(driver().cuMemFree(memory));
  EXPECT_EQ(driver().cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
  need(driver().cuDeviceGraphMemTrim(0));
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(driver().cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST(GraphMemory, Of_destroyed_graphs_is_returned) {
  const Running running;
  const std::size_t before = free_memory();
  std::size_t least = before;
  for (int i = 0; i < 1000; ++i) {
    const CUgraph graph = make_graph();
    add_allocation(graph, 2 << 20);
    least = std::min(least, free_memory());
    need(driver().cuGraphDestroy(graph));
  }
  EXPECT_LE(before - least, std::size_t{64} * (2 << 20));
}

TEST(GraphMemory, Is_freed_at_the_next_launch_with_the_flag) {
  const Running running;
  const CUgraph graph = make_graph();
  const CUdeviceptr memory = add_allocation(graph).address;
  const CUgraphExec executable = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(driver().cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(memory), CUDA_SUCCESS);
}

TEST(GraphMemory, Is_freed_by_another_graph) {
  const Running running;
  const CUgraph first = make_graph(), second = make_graph();
  const CUdeviceptr memory = add_allocation(first).address;
  CUgraphNode freeing = nullptr;
  need(driver().cuGraphAddMemFreeNode(&freeing, second, nullptr, 0, memory));
  const CUgraphExec allocates = instantiate(first), frees = instantiate(second);
  EXPECT_EQ(driver().cuGraphLaunch(frees, nullptr), CUDA_ERROR_INVALID_VALUE);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(driver().cuGraphLaunch(allocates, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuGraphLaunch(frees, nullptr), CUDA_SUCCESS);
  }
}

TEST(GraphMemory, Can_have_another_executable_graph_when_the_first_is_destroyed) {
  const Running running;
  const CUgraph graph = make_graph();
  add_allocation(graph);
  const CUgraphExec first = instantiate(graph);
  CUgraphExec second = nullptr;
  EXPECT_EQ(cushim::exact::cuGraphInstantiateWithFlags_v11040(driver())(&second, graph, 0),
            CUDA_ERROR_NOT_SUPPORTED);
  need(driver().cuGraphExecDestroy(first));
  EXPECT_EQ(cushim::exact::cuGraphInstantiateWithFlags_v11040(driver())(&second, graph, 0), CUDA_SUCCESS);
}

TEST(GraphMemory, Of_a_child_graph_is_not_supported) {
  const Running running;
  const CUgraph graph = make_graph(), child = make_graph();
  add_allocation(child);
  CUgraphNode node = nullptr;
  EXPECT_EQ(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(GraphMemory, Is_captured_and_freed_once) {
  const Running running;
  const CUstream stream = running.stream();
  need(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr memory = 0;
  need(driver().cuMemAllocAsync(&memory, 1024, stream));
  need(driver().cuMemsetD32Async(memory, 5, 1, stream));
  need(driver().cuMemFreeAsync(memory, stream));
  EXPECT_EQ(driver().cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
  CUgraph graph = nullptr;
  need(driver().cuStreamEndCapture(stream, &graph));
  const CUgraphExec executable = instantiate(graph);
  EXPECT_EQ(driver().cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

#if CUDA_VERSION >= 12000
// A graph with a copy from one of the memories below, and a call and an update that replace that memory.
struct CopyOfMemory {
  CopyOfMemory() {
    need(driver().cuMemAllocAsync(&pooled, 64, nullptr));
    need(driver().cuCtxGetCurrent(&context));
  }
  // Returns the results of the call and of the update.
  std::pair<CUresult, CUgraphExecUpdateResult> replace(CUdeviceptr before, CUdeviceptr after) const {
    const CUDA_MEMCPY3D copy = test::copy_of_box(other, before, 16);
    const CUDA_MEMCPY3D changed = test::copy_of_box(other, after, 16);
    CUgraphNode node = nullptr;
    need(driver().cuGraphAddMemcpyNode(&node, graph, &memory.node, 1, &copy, context));
    const CUgraphExec executable = instantiate(graph);
    const CUresult code = driver().cuGraphExecMemcpyNodeSetParams(executable, node, &changed, context);
    need(driver().cuGraphExecMemcpyNodeSetParams(executable, node, &copy, context));
    need(driver().cuGraphMemcpyNodeSetParams(node, &changed));
    CUgraphExecUpdateResultInfo info{};
    const CUresult update = exact::cuGraphExecUpdate_v12000(driver())(executable, graph, &info);
    EXPECT_EQ(update == CUDA_SUCCESS, info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    EXPECT_EQ(info.errorNode, update == CUDA_SUCCESS ? nullptr : node);
    need(driver().cuGraphExecDestroy(executable));
    return {code, info.result};
  }

  Running running;
  CUgraph graph = make_graph();
  AllocationNode memory = add_allocation(graph);
  CUdeviceptr other = running.memory(), pooled = 0;
  CUcontext context = nullptr;
};

TEST(GraphMemory, Of_pools_and_other_memory_do_not_replace_each_other_in_copies) {
  using Results = std::pair<CUresult, CUgraphExecUpdateResult>;
  const Results possible{CUDA_SUCCESS, CU_GRAPH_EXEC_UPDATE_SUCCESS},
      impossible{CUDA_ERROR_INVALID_VALUE, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED};
  const auto replace = [](auto before, auto after) {
    const CopyOfMemory copy;
    return copy.replace(before(copy), after(copy));
  };
  const auto of_graph = [](const CopyOfMemory &copy) { return copy.memory.address; };
  const auto of_graph_too = [](const CopyOfMemory &copy) { return copy.memory.address + 16; };
  const auto of_pool = [](const CopyOfMemory &copy) { return copy.pooled; };
  const auto other = [](const CopyOfMemory &copy) { return copy.other + 64; };
  const auto pinned = [](const CopyOfMemory &copy) {
    return reinterpret_cast<CUdeviceptr>(copy.running.pinned(16));
  };
  EXPECT_EQ(replace(of_graph, other), impossible);
  EXPECT_EQ(replace(other, of_graph), impossible);
  EXPECT_EQ(replace(of_graph, of_pool), impossible);
  EXPECT_EQ(replace(of_pool, other), impossible);
  EXPECT_EQ(replace(of_graph, of_graph_too), possible);
  EXPECT_EQ(replace(other, pinned), possible);
}
#endif

#if CUDA_VERSION >= 12020
TEST(GraphMemory, Comes_from_nodes_of_the_generic_call) {
  const Running running;
  const CUgraph graph = make_graph();
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  parameters.alloc.poolProps = test::pool_of_device();
  parameters.alloc.bytesize = 64;
  CUgraphNode made = nullptr, freeing = nullptr;
  need(driver().cuGraphAddNode(&made, graph, nullptr, nullptr, 0, &parameters));
  ASSERT_NE(parameters.alloc.dptr, 0u);
  CUgraphNodeParams free{};
  free.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  free.free.dptr = parameters.alloc.dptr;
  need(driver().cuGraphAddNode(&freeing, graph, &made, nullptr, 1, &free));
  EXPECT_EQ(driver().cuGraphLaunch(instantiate(graph), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphNodeSetParams(made, &parameters), CUDA_ERROR_INVALID_VALUE);
}

TEST(GraphMemory, In_a_graph_keeps_the_graphs_of_its_child_nodes) {
  const Running running;
  const CUgraph graph = make_graph(), child = make_graph();
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
  parameters.graph.graph = graph;  // of which the node gets a copy
  EXPECT_EQ(driver().cuGraphNodeSetParams(node, &parameters), CUDA_SUCCESS);
  add_allocation(graph);
  parameters.graph.graph = child;
  EXPECT_EQ(driver().cuGraphNodeSetParams(node, &parameters), CUDA_ERROR_NOT_SUPPORTED);
}
#endif

}  // namespace
}  // namespace cushim::sim
