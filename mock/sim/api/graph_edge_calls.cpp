// SPDX-License-Identifier: Apache-2.0
// Dependencies between the nodes of a graph. The first ABIs have no data of edges.
#include "api/graph_objects.hpp"

namespace cushim::sim {
namespace {

// Writes the first *size of `count` edges; see write_handles(). Skips a null array. LOSSY_QUERY if the data
// of edges is not the default and has no array (documentation).
template <class ForEach>
void write_edges(CUgraphNode *from, CUgraphNode *to, void *data, std::size_t *size, std::size_t count,
                 ForEach for_each) {
  require(size != nullptr);
  if (from == nullptr && to == nullptr) {
    require(data == nullptr);
    *size = count;
    return;
  }
  require(*size != 0);  // measured, driver 580
  std::size_t next = 0;
  const auto write = [&](CUgraphNode first, CUgraphNode second, const EdgeData &with) {
    if (next >= *size) return;
    require(data != nullptr || with == EdgeData{}, kLossyQuery);
    if (from != nullptr) from[next] = first;
    if (to != nullptr) to[next] = second;
#if CUDA_VERSION >= 12030
    if (data != nullptr)
      static_cast<CUgraphEdgeData *>(data)[next] = {with.from_port, with.to_port, with.type, {}};
#endif
    ++next;
  };
  for_each([&](const GraphEdge &edge) { write(handle_of(edge.from), handle_of(edge.to), edge.data); });
  const std::size_t written = next;
  while (next < *size) write(nullptr, nullptr, {});
  *size = written;
}

CUresult get_edges(Call &call, CUgraph handle, CUgraphNode *from, CUgraphNode *to, void *data,
                   std::size_t *size) {
  const Graph &graph = graph_of(call, handle);
  require((from == nullptr) == (to == nullptr));
  write_edges(from, to, data, size, graph.edge_count, [&](auto visit) {
    graph.for_each_node([&](const GraphNode &node) { node.dependents.for_each(visit); });
  });
  return CUDA_SUCCESS;
}

CUresult get_dependencies(Call &call, CUgraphNode handle, CUgraphNode *out, void *data, std::size_t *size) {
  const EdgeList &edges = node_of(call, handle).dependencies;
  write_edges(out, nullptr, data, size, edges.size(), [&](auto visit) { edges.for_each(visit); });
  return CUDA_SUCCESS;
}

CUresult get_dependents(Call &call, CUgraphNode handle, CUgraphNode *out, void *data, std::size_t *size) {
  const EdgeList &edges = node_of(call, handle).dependents;
  write_edges(nullptr, out, data, size, edges.size(), [&](auto visit) { edges.for_each(visit); });
  return CUDA_SUCCESS;
}

// The arguments of a call that adds or removes edges, each list with one element an edge.
struct NamedEdges {
  std::vector<GraphNode *> from, to;
  std::vector<EdgeData> data;
};
NamedEdges named_edges(Call &call, CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                       const void *data, std::size_t count) {
  const Graph &graph = graph_of(call, handle);
  return {nodes_of(call, graph, from, count), nodes_of(call, graph, to, count), edge_data_of(data, count)};
}

// Neither adds nor removes an edge if one leads from a node to itself. An edge to add that exists, or an edge
// to remove that does not, ends the call with INVALID_VALUE after the edges before it. Measured on an H200,
// driver 580.
void require_no_loop(const NamedEdges &edges) {
  for (std::size_t i = 0; i < edges.from.size(); ++i) require(edges.from[i] != edges.to[i]);
}

// All edges get the data of the first one. Measured on an H200, driver 580.
CUresult add(Call &call, CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const void *data,
             std::size_t count) {
  const NamedEdges edges = named_edges(call, handle, from, to, data, count);
  require_no_loop(edges);
  for (std::size_t i = 0; i < count; ++i)
    require(may_connect(edges.from[i]->command, edges.to[i]->command, edges.data[i]));
  for (std::size_t i = 0; i < count; ++i) {
    require(find_edge(*edges.from[i], *edges.to[i]) == nullptr);
    connect(*edges.from[i], *edges.to[i], edges.data.front());
  }
  return CUDA_SUCCESS;
}

// The data of the edges is not compared: measured, driver 580.
CUresult remove(Call &call, CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                std::size_t count) {
  require(!graph_of(call, handle).has_memory_nodes, CUDA_ERROR_NOT_SUPPORTED);  // measured, driver 580
  const NamedEdges edges = named_edges(call, handle, from, to, nullptr, count);
  require_no_loop(edges);
  for (std::size_t i = 0; i < count; ++i) {
    GraphEdge *const found = find_edge(*edges.from[i], *edges.to[i]);
    require(found != nullptr);
    delete found;
  }
  return CUDA_SUCCESS;
}

// ---- The first ABIs ----

CUresult get_edges_alone(Call &call, CUgraph graph, CUgraphNode *from, CUgraphNode *to, std::size_t *size) {
  return get_edges(call, graph, from, to, nullptr, size);
}
CUresult get_dependencies_alone(Call &call, CUgraphNode node, CUgraphNode *out, std::size_t *size) {
  return get_dependencies(call, node, out, nullptr, size);
}
CUresult get_dependents_alone(Call &call, CUgraphNode node, CUgraphNode *out, std::size_t *size) {
  return get_dependents(call, node, out, nullptr, size);
}
CUresult add_alone(Call &call, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                   std::size_t count) {
  return add(call, graph, from, to, nullptr, count);
}
CUresult remove_alone(Call &call, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                      std::size_t count) {
  return remove(call, graph, from, to, count);
}

#if CUDA_VERSION >= 12030
using Data = CUgraphEdgeData;

CUresult get_edges_with_data(Call &call, CUgraph graph, CUgraphNode *from, CUgraphNode *to, Data *data,
                             std::size_t *size) {
  return get_edges(call, graph, from, to, data, size);
}
CUresult get_dependencies_with_data(Call &call, CUgraphNode node, CUgraphNode *out, Data *data,
                                    std::size_t *size) {
  return get_dependencies(call, node, out, data, size);
}
CUresult get_dependents_with_data(Call &call, CUgraphNode node, CUgraphNode *out, Data *data,
                                  std::size_t *size) {
  return get_dependents(call, node, out, data, size);
}
CUresult add_with_data(Call &call, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                       const Data *data, std::size_t count) {
  return add(call, graph, from, to, data, count);
}
CUresult remove_with_data(Call &call, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                          const Data *, std::size_t count) {
  return remove(call, graph, from, to, count);
}
#endif

}  // namespace

constinit const Entries entries_of_graph_edges = {
    entry<"cuGraphGetEdges_v10000", get_edges_alone>,
    entry<"cuGraphNodeGetDependencies_v10000", get_dependencies_alone>,
    entry<"cuGraphNodeGetDependentNodes_v10000", get_dependents_alone>,
    entry<"cuGraphAddDependencies_v10000", add_alone>,
    entry<"cuGraphRemoveDependencies_v10000", remove_alone>,
#if CUDA_VERSION >= 12030
    entry<"cuGraphGetEdges_v12030", get_edges_with_data>,
    entry<"cuGraphNodeGetDependencies_v12030", get_dependencies_with_data>,
    entry<"cuGraphNodeGetDependentNodes_v12030", get_dependents_with_data>,
    entry<"cuGraphAddDependencies_v12030", add_with_data>,
    entry<"cuGraphRemoveDependencies_v12030", remove_with_data>,
#endif
};

}  // namespace cushim::sim
