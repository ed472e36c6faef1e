// SPDX-License-Identifier: Apache-2.0
// Measures calls on nodes and edges of graphs, captures and user objects, among 1,000 and among 100,000.
#include "many_objects.hpp"

namespace {

using namespace cushim::bench;
using cushim::driver;

CUgraphNode empty_node(const Running &running, const CUgraphNode *after, std::size_t count) {
  CUgraphNode node = nullptr;
  need(driver().cuGraphAddEmptyNode(&node, running.graph, after, count));
  return node;
}

void add_dependents_of_one(Running &running, std::size_t count) {
  running.nodes = {empty_node(running, nullptr, 0)};
  for (std::size_t i = 1; i < count; ++i)
    running.nodes.push_back(empty_node(running, running.nodes.data(), 1));
}

void add_chain(Running &running, std::size_t count) {
  running.nodes = {empty_node(running, nullptr, 0)};
  for (std::size_t i = 1; i < count; ++i) {
    const CUgraphNode last = running.nodes.back();
    running.nodes.push_back(empty_node(running, &last, 1));
  }
}

void add_one_with_all_dependencies(Running &running, std::size_t) {
  running.nodes.push_back(empty_node(running, running.nodes.data() + 1, running.nodes.size() - 1));
}

// Adds nodes in layers of 300, each of which depends on all of the layer before it: `count` edges.
void add_layers(Running &running, std::size_t count) {
  constexpr std::size_t kLayer = 300;
  for (std::size_t i = 0; i < kLayer; ++i) running.nodes.push_back(empty_node(running, nullptr, 0));
  for (std::size_t i = 0; i < count / kLayer; ++i)
    running.nodes.push_back(empty_node(running, running.nodes.data() + i / kLayer * kLayer, kLayer));
}

void connect_all_with_last(Running &running, std::size_t) {
  const CUgraphNode last = empty_node(running, nullptr, 0);
  for (const CUgraphNode node : running.nodes)
    need(cushim::exact::cuGraphAddDependencies_v10000(driver())(running.graph, &node, &last, 1));
  running.nodes.push_back(last);
}

void disconnect_all_from_last(Running &running, std::size_t) {
  const CUgraphNode last = running.nodes.back();
  for (const CUgraphNode node : running.nodes)
    if (node != last)
      need(cushim::exact::cuGraphRemoveDependencies_v10000(driver())(running.graph, &node, &last, 1));
}

void get_edges(Running &running, std::size_t) {
  std::size_t size = 0;
  need(cushim::exact::cuGraphGetEdges_v10000(driver())(running.graph, nullptr, nullptr, &size));
  std::vector<CUgraphNode> from(size), to(size);
  need(cushim::exact::cuGraphGetEdges_v10000(driver())(running.graph, from.data(), to.data(), &size));
}

void get_each_nodes_edges(Running &running, std::size_t) {
  for (const CUgraphNode node : running.nodes) {
    std::size_t size = 0;
    need(cushim::exact::cuGraphNodeGetDependencies_v10000(driver())(node, nullptr, &size));
    std::vector<CUgraphNode> found(size);
    if (size != 0)
      need(cushim::exact::cuGraphNodeGetDependencies_v10000(driver())(node, found.data(), &size));
    need(cushim::exact::cuGraphNodeGetDependentNodes_v10000(driver())(node, nullptr, &size));
  }
}

void destroy_nodes(Running &running, std::size_t) {
  for (const CUgraphNode node : running.nodes) need(driver().cuGraphDestroyNode(node));
}

void add_child_graphs(Running &running, std::size_t count) {
  CUgraph child = nullptr;
  CUgraphNode node = nullptr;
  need(driver().cuGraphCreate(&child, 0));
  need(driver().cuGraphAddEmptyNode(&node, child, nullptr, 0));
  for (std::size_t i = 0; i < count; ++i)
    need(driver().cuGraphAddChildGraphNode(&node, running.graph, nullptr, 0, child));
}

void add_allocations(Running &running, std::size_t count) {
  CUDA_MEM_ALLOC_NODE_PARAMS wanted = {};
  wanted.poolProps = running.properties;
  wanted.bytesize = 512;
  CUgraphNode last = nullptr;
  for (std::size_t i = 0; i < count / 2; ++i) {
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddMemAllocNode(&made, running.graph, &last, i == 0 ? 0 : 1, &wanted));
    need(driver().cuGraphAddMemFreeNode(&last, running.graph, &made, 1, wanted.dptr));
  }
}

void add_copies(Running &running, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = i % 2 == 0 ? running.memory : running.other;
    copy.dstDevice = i % 2 == 0 ? running.other : running.memory;
    copy.WidthInBytes = 16;
    copy.Height = copy.Depth = 1;
    CUgraphNode made = nullptr;
    need(driver().cuGraphAddMemcpyNode(&made, running.graph, running.nodes.data(), running.nodes.size(),
                                       &copy, running.context));
    running.nodes = {made};
  }
}

void launch(Running &running, std::size_t) {
  CUgraphExec executable = nullptr;
  need(driver().cuGraphInstantiateWithFlags(&executable, running.graph, 0));
  need(driver().cuGraphLaunch(executable, running.stream));
  need(driver().cuStreamSynchronize(running.stream));
  need(driver().cuGraphExecDestroy(executable));
}

void capture_many_joins(Running &running, std::size_t count) {
  std::vector<CUstream> streams(count);
  CUevent event = nullptr, joined = nullptr;
  need(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  need(driver().cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
  for (CUstream &stream : streams) need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  need(driver().cuStreamBeginCapture(running.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  need(driver().cuEventRecord(event, running.stream));
  for (const CUstream stream : streams) {
    need(driver().cuStreamWaitEvent(stream, event, 0));
    need(driver().cuMemsetD8Async(running.memory, 1, 16, stream));
    need(driver().cuEventRecord(joined, stream));
    need(driver().cuStreamWaitEvent(running.stream, joined, 0));
  }
  need(driver().cuStreamEndCapture(running.stream, &running.graph));
}

void make_graphs(Running &, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    CUgraph graph = nullptr;
    need(driver().cuGraphCreate(&graph, 0));
  }
}

void retain_user_objects(Running &running, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    CUuserObject object = nullptr;
    need(driver().cuUserObjectCreate(
        &object, nullptr, [](void *) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    need(driver().cuGraphRetainUserObject(running.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  }
}

}  // namespace

int main(int argc, char **argv) {
  const Life lives[] = {
      {"graph, one node's dependents",
       {{"add", add_dependents_of_one},
        {"edges", get_edges},
        {"each node's edges", get_each_nodes_edges},
        {"add a node after all", add_one_with_all_dependencies},
        {"launch", launch},
        {"destroy nodes", destroy_nodes}}},
      {"graph, chain",
       {{"add", add_chain},
        {"edges", get_edges},
        {"each node's edges", get_each_nodes_edges},
        {"add dependencies", connect_all_with_last},
        {"remove dependencies", disconnect_all_from_last},
        {"launch", launch},
        {"destroy nodes", destroy_nodes}}},
      {"graph, layers, per edge",
       {{"add", add_layers}, {"edges", get_edges}, {"destroy nodes", destroy_nodes}},
       300'000},
      {"graph, child graphs", {{"add", add_child_graphs}, {"launch", launch}}},
      {"graph, allocations", {{"add", add_allocations}, {"launch", launch}}},
      {"graph, copies between two allocations", {{"add", add_copies}, {"launch", launch}}},
      {"capture, joins", {{"capture", capture_many_joins}}, 20'000},
      {"graphs", {{"make", make_graphs}}},
      {"user objects", {{"retain", retain_user_objects}, {"launch", launch}}},
  };
  return measure_all(lives, argc, argv);
}
