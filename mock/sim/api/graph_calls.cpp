// SPDX-License-Identifier: Apache-2.0
// Graphs as a whole: creation, copies, contents.
#include "api/graph_objects.hpp"
#include "graphs/capturing.hpp"
#include "graphs/condition.hpp"

namespace cushim::sim {

CUgraphNodeType type_of(const Command &command) {
  constexpr CUgraphNodeType kTypes[] = {CU_GRAPH_NODE_TYPE_EMPTY,
                                        CU_GRAPH_NODE_TYPE_MEMCPY,
                                        CU_GRAPH_NODE_TYPE_MEMSET,
                                        CU_GRAPH_NODE_TYPE_KERNEL,
                                        CU_GRAPH_NODE_TYPE_HOST,
                                        CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                        CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                                        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                                        CU_GRAPH_NODE_TYPE_GRAPH,
                                        CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                                        CU_GRAPH_NODE_TYPE_MEM_FREE,
                                        kConditionalNode,
                                        CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
                                        CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT};
  static_assert(std::size(kTypes) == std::variant_size_v<Command>);
  return kTypes[command.index()];
}

namespace {

CUresult create(Call &call, CUgraph *out, unsigned flags) {
  require(out != nullptr && flags == 0);
  *out = handle_of(make_graph(call.system));
  return CUDA_SUCCESS;
}

CUresult destroy(Call &call, CUgraph handle) {
  Graph &graph = graph_of(call, handle);
  require(graph.parent == nullptr);
  require(!is_captured_into(call.system, handle), CUDA_ERROR_ILLEGAL_STATE);  // measured, driver 580
  destroy_graph(call.system, graph, call.name);
  call_destructors(call);
  return CUDA_SUCCESS;
}

CUresult clone_graph(Call &call, CUgraph *out, CUgraph original) {
  require(out != nullptr);
  const Graph &graph = graph_of(call, original);
  require(!graph.has_memory_nodes && !graph.is_body, CUDA_ERROR_NOT_SUPPORTED);  // measured, driver 580
  // The documentation of cuGraphClone forbids it; the code is that of memory nodes.
  // A handle without a node has the same effect: measured, driver 580.
  require(root_of(graph).conditions.empty(), CUDA_ERROR_NOT_SUPPORTED);
  *out = handle_of(clone(call.system, graph));
  return CUDA_SUCCESS;
}

CUresult nodes(Call &call, CUgraph handle, CUgraphNode *out, std::size_t *count) {
  const Graph &graph = graph_of(call, handle);
  write_handles(out, count, graph.node_count, [&](auto visit) { graph.for_each_node(visit); });
  return CUDA_SUCCESS;
}

CUresult root_nodes(Call &call, CUgraph handle, CUgraphNode *out, std::size_t *count) {
  const Graph &graph = graph_of(call, handle);
  std::size_t roots = 0;
  Graph::for_each(graph.roots, [&](const GraphNode &) { ++roots; });
  write_handles(out, count, roots, [&](auto visit) { Graph::for_each(graph.roots, visit); });
  return CUDA_SUCCESS;
}

CUresult destroy_one(Call &call, CUgraphNode handle) {
  GraphNode &node = node_of(call, handle);
  require(!node.graph->has_memory_nodes, CUDA_ERROR_NOT_SUPPORTED);  // measured, driver 580
  destroy_node(call.system, node, call.name);
  call_destructors(call);
  return CUDA_SUCCESS;
}

CUresult get_type(Call &call, CUgraphNode handle, CUgraphNodeType *type) {
  return store(type, [&] { return type_of(node_of(call, handle).command); });
}

CUresult find_in_clone(Call &call, CUgraphNode *out, CUgraphNode original, CUgraph cloned) {
  require(out != nullptr);
  const GraphNode &node = node_of(call, original);
  const Graph &graph = graph_of(call, cloned);
  const auto found = graph.clones.find(node.id);
  require(found != graph.clones.end());
  *out = handle_of(*found->second);
  return CUDA_SUCCESS;
}

// ---- Numbers ----

// Returns the number of a graph or a node, which differs from those of all others of the machine. Both ids of
// a node are the number that cuGraphDebugDotPrint prints.
template <auto find, class Handle, class Number>
CUresult get_id(Call &call, Handle handle, Number *id) {
  return store(id, [&] { return find(call, handle).id; });
}

CUresult get_containing_graph(Call &call, CUgraphNode handle, CUgraph *graph) {
  return store(graph, [&] { return handle_of(*node_of(call, handle).graph); });
}

}  // namespace

constinit const Entries entries_of_graphs = {
    entry<"cuGraphCreate", create>,
    entry<"cuGraphDestroy", destroy>,
    entry<"cuGraphClone", clone_graph>,
    entry<"cuGraphGetNodes", nodes>,
    entry<"cuGraphGetRootNodes", root_nodes>,
    entry<"cuGraphDestroyNode", destroy_one>,
    entry<"cuGraphNodeGetType", get_type>,
    entry<"cuGraphNodeFindInClone", find_in_clone>,
    entry<"cuGraphGetId", get_id<graph_of, CUgraph, unsigned>>,
    entry<"cuGraphNodeGetLocalId", get_id<node_of, CUgraphNode, unsigned>>,
    entry<"cuGraphNodeGetToolsId", get_id<node_of, CUgraphNode, unsigned long long>>,
    entry<"cuGraphNodeGetContainingGraph", get_containing_graph>,
};

}  // namespace cushim::sim
