// SPDX-License-Identifier: Apache-2.0
// Graphs as a whole: creation, copies, contents.
#include <cstdio>

#include "api/graph_objects.hpp"
#include "graphs/condition.hpp"

namespace cushim::sim {
namespace {

CUresult create(Call &call, CUgraph *out, unsigned flags) {
  require(out != nullptr && flags == 0);
  *out = handle_of(make_graph(call.system));
  return CUDA_SUCCESS;
}

CUresult destroy(Call &call, CUgraph handle) {
  Graph &graph = graph_of(call, handle);
  require(graph.parent == nullptr);
  destroy_graph(call.system, graph, call.name);
  call_destructors(call);
  return CUDA_SUCCESS;
}

CUresult clone_graph(Call &call, CUgraph *out, CUgraph original) {
  require(out != nullptr);
  const Graph &graph = graph_of(call, original);
  require(!graph.has_memory_nodes, CUDA_ERROR_NOT_SUPPORTED);  // measured, driver 580
  // The documentation of cuGraphClone forbids it; the code is that of memory nodes.
  require(!graph.has_conditional_nodes, CUDA_ERROR_NOT_SUPPORTED);
  *out = handle_of(clone(call.system, graph));
  return CUDA_SUCCESS;
}

CUresult nodes(Call &call, CUgraph handle, CUgraphNode *out, std::size_t *count) {
  const Graph &graph = graph_of(call, handle);
  write_handles(out, count, graph.node_count, [&](auto visit) { graph.for_each_node(visit); });
  return CUDA_SUCCESS;
}

// The newest comes first. Measured, driver 580.
CUresult root_nodes(Call &call, CUgraph handle, CUgraphNode *out, std::size_t *count) {
  const Graph &graph = graph_of(call, handle);
  std::vector<GraphNode *> roots;
  graph.for_each_node([&](GraphNode &node) {
    if (node.dependencies.empty()) roots.push_back(&node);
  });
  write_handles(out, count, roots.size(), [&](auto visit) {
    std::for_each(roots.rbegin(), roots.rend(), [&](GraphNode *node) { visit(*node); });
  });
  return CUDA_SUCCESS;
}

CUresult destroy_one(Call &call, CUgraphNode handle) {
  GraphNode &node = node_of(call, handle);
  // Measured, driver 580.
  require(!is_of_memory(node.command), CUDA_ERROR_NOT_SUPPORTED);
  destroy_node(call.system, node, call.name);
  call_destructors(call);
  return CUDA_SUCCESS;
}

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

CUresult get_type(Call &call, CUgraphNode handle, CUgraphNodeType *type) {
  require(type != nullptr);
  *type = type_of(node_of(call, handle).command);
  return CUDA_SUCCESS;
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

CUresult get_id(Call &call, CUgraph handle, unsigned *id) {
  require(id != nullptr);
  *id = static_cast<unsigned>(graph_of(call, handle).id);
  return CUDA_SUCCESS;
}

// Returns the number that cuGraphDebugDotPrint prints. It differs from those of all nodes of the machine.
CUresult get_local_id(Call &call, CUgraphNode handle, unsigned *id) {
  require(id != nullptr);
  *id = static_cast<unsigned>(node_of(call, handle).id);
  return CUDA_SUCCESS;
}

CUresult get_tools_id(Call &call, CUgraphNode handle, unsigned long long *id) {
  require(id != nullptr);
  *id = node_of(call, handle).id;
  return CUDA_SUCCESS;
}

CUresult get_containing_graph(Call &call, CUgraphNode handle, CUgraph *graph) {
  require(graph != nullptr);
  *graph = handle_of(*node_of(call, handle).graph);
  return CUDA_SUCCESS;
}

// ---- A description in the DOT language ----

const char *name_of(const Command &command) {
  constexpr const char *kNames[] = {"empty",
                                    "memcpy",
                                    "memset",
                                    "kernel",
                                    "host",
                                    "event record",
                                    "event wait",
                                    "batch mem op",
                                    "child graph",
                                    "mem alloc",
                                    "mem free",
                                    "conditional",
                                    "external semaphores signal",
                                    "external semaphores wait"};
  static_assert(std::size(kNames) == std::variant_size_v<Command>);
  return kNames[command.index()];
}

const char *name_of(ConditionalType type) {
  constexpr const char *kNames[] = {"if", "while", "switch"};
  return kNames[static_cast<int>(type)];
}

std::string label_of(Call &call, const GraphNode &node) {
  std::string label = name_of(node.command);
  if (const auto *const conditional = std::get_if<Conditional>(&node.command))
    return label + " " + name_of(conditional->type) + " " + std::to_string(conditional->condition->handle);
  const auto *const launch = std::get_if<KernelLaunch>(&node.command);
  if (launch == nullptr) return label;
  const Function *const function = call.system.handles.find<Function>(launch->function);
  return label + " " + (function != nullptr ? function->name : "of an unloaded module");
}

void print_nodes(Call &call, const Graph &graph, std::FILE *file);

// Prints a graph that is a part of a node.
void print_part(Call &call, const Graph &part, const GraphNode &node, std::FILE *file) {
  std::fprintf(file, "  subgraph cluster_%lu {\n  label=\"node_%lu\";\n", part.id, node.id);
  print_nodes(call, part, file);
  std::fputs("  }\n", file);
}

void print_nodes(Call &call, const Graph &graph, std::FILE *file) {
  graph.for_each_node([&](const GraphNode &node) {
    std::fprintf(file, "  node_%lu [label=\"%s\"];\n", node.id, label_of(call, node).c_str());
    node.dependents.for_each([&](const GraphEdge &edge) {
      std::fprintf(file, "  node_%lu -> node_%lu;\n", edge.from.id, edge.to.id);
    });
    if (const auto *const child = std::get_if<ChildGraph>(&node.command))
      print_part(call, *child->graph, node, file);
    if (const auto *const conditional = std::get_if<Conditional>(&node.command))
      for (const Graph *const body : conditional->bodies) print_part(call, *body, node, file);
  });
}

// Flags, which ask for more details, are accepted and ignored.
CUresult print(Call &call, CUgraph handle, const char *path, unsigned) {
  require(path != nullptr);
  const Graph &graph = graph_of(call, handle);
  std::FILE *const file = std::fopen(path, "w");
  require(file != nullptr, CUDA_ERROR_OPERATING_SYSTEM);
  std::fprintf(file, "digraph graph_%lu {\n", graph.id);
  print_nodes(call, graph, file);
  std::fputs("}\n", file);
  const bool has_failed = std::ferror(file) != 0;
  require(std::fclose(file) == 0 && !has_failed, CUDA_ERROR_OPERATING_SYSTEM);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_graphs(Service &service) {
  service.serve<"cuGraphCreate", create>();
  service.serve<"cuGraphDestroy", destroy>();
  service.serve<"cuGraphClone", clone_graph>();
  service.serve<"cuGraphGetNodes", nodes>();
  service.serve<"cuGraphGetRootNodes", root_nodes>();
  service.serve<"cuGraphDestroyNode", destroy_one>();
  service.serve<"cuGraphNodeGetType", get_type>();
  service.serve<"cuGraphNodeFindInClone", find_in_clone>();
  service.serve<"cuGraphGetId", get_id>();
  service.serve<"cuGraphNodeGetLocalId", get_local_id>();
  service.serve<"cuGraphNodeGetToolsId", get_tools_id>();
  service.serve<"cuGraphNodeGetContainingGraph", get_containing_graph>();
  service.serve<"cuGraphDebugDotPrint", print>();
}

}  // namespace cushim::sim
