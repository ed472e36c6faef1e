// SPDX-License-Identifier: Apache-2.0
#include "api/graph_objects.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "commands/submit.hpp"
#include "memory/location.hpp"

namespace cushim::sim {

namespace {

template <class T>
T &find(Call &call, const void *handle) {
  return call.object<T>(handle, CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

Graph &graph_of(Call &call, CUgraph handle) { return find<Graph>(call, handle); }
GraphNode &node_of(Call &call, CUgraphNode handle) { return find<GraphNode>(call, handle); }
ExecutableGraph &executable_of(Call &call, CUgraphExec handle) { return find<ExecutableGraph>(call, handle); }
UserObject &user_object_of(Call &call, CUuserObject handle) { return find<UserObject>(call, handle); }

std::vector<GraphNode *> nodes_of(Call &call, const Graph &graph, const CUgraphNode *handles,
                                  std::size_t count) {
  require(handles != nullptr || count == 0);
  std::vector<GraphNode *> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(&node_of(call, handles[i]));
    require(nodes.back()->graph == &graph);
  }
  return nodes;
}

std::vector<EdgeData> edge_data_of([[maybe_unused]] const void *data, std::size_t count) {
  std::vector<EdgeData> all(count);
#if CUDA_VERSION >= 12030
  static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData));
  if (data != nullptr && count != 0) std::memcpy(all.data(), data, count * sizeof(EdgeData));
  for (const EdgeData &each : all)
    require(each.type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
            each.from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && each.to_port == 0);
#endif
  return all;
}

bool may_connect(const Command &from, const Command &to, const EdgeData &data) {
  constexpr unsigned char kProgrammaticPort = 1, kLaunchOrderPort = 2;  // CU_GRAPH_KERNEL_NODE_PORT_...
  if (data == EdgeData{}) return true;
  if (!std::holds_alternative<KernelLaunch>(from)) return false;
  if (data == EdgeData{.from_port = kLaunchOrderPort}) return true;
  return std::holds_alternative<KernelLaunch>(to) &&
         (data == EdgeData{.from_port = kProgrammaticPort, .type = 1} ||
          data == EdgeData{.from_port = kLaunchOrderPort, .type = 1});
}

void for_each_part(const Graph &graph, const std::function<void(const Graph &)> &visit) {
  visit(graph);
  if (!graph.has_child_graphs && !graph.has_conditional_nodes) return;
  graph.for_each_node([&](const GraphNode &each) {
    if (const auto *const child = std::get_if<ChildGraph>(&each.command)) for_each_part(*child->graph, visit);
    if (const auto *const conditional = std::get_if<Conditional>(&each.command))
      for (const Graph *const body : conditional->bodies) for_each_part(*body, visit);
  });
}

void call_destructors(Call &call, const Work &after) {
  System &system = call.system;
  while (!system.destructors.empty()) {
    const HostFunction destructor = system.destructors.back();
    system.destructors.pop_back();
    Operation operation{.name = call.name, .on_host = [destructor] { destructor.function(destructor.data); }};
    operation.come_after(after);
    call.start(system.engine.add(std::move(operation)));
  }
}

namespace {

// Visits the graph, its child graphs and its bodies, with the id of the child graph node that each belongs
// to.
template <class Visit>
void for_each_part(const Graph &graph, unsigned long node, const Visit &visit) {
  visit(graph, node);
  if (!graph.has_child_graphs && !graph.has_conditional_nodes) return;
  graph.for_each_node([&](const GraphNode &each) {
    if (const auto *const child = std::get_if<ChildGraph>(&each.command))
      for_each_part(*child->graph, each.id, visit);
    if (const auto *const conditional = std::get_if<Conditional>(&each.command))
      for (const Graph *const body : conditional->bodies) for_each_part(*body, node, visit);
  });
}

void hold(ExecutableGraph &executable, const Graph &graph, unsigned long node) {
  for (const auto &[object, count] : graph.user_objects) {
    executable.user_objects[node][object] += count;
    object->references += count;
  }
}

void release_all(Call &call, const ExecutableGraph::UserObjects &objects) {
  for (const auto &[node, of_node] : objects)
    for (const auto &[object, count] : of_node) release(call.system, *object, count, call.name);
}

}  // namespace

void hold_user_objects(ExecutableGraph &executable, const Graph &graph) {
  for_each_part(graph, 0, [&](const Graph &part, unsigned long node) { hold(executable, part, node); });
}

void replace_user_objects(Call &call, ExecutableGraph &executable, const GraphNode &child,
                          const Graph &graph) {
  ExecutableGraph::UserObjects replaced;
  for_each_part(*std::get<ChildGraph>(child.command).graph, child.id, [&](const Graph &, unsigned long node) {
    replaced.insert(executable.user_objects.extract(node));
  });
  for_each_part(graph, child.id, [&](const Graph &part, unsigned long) { hold(executable, part, child.id); });
  release_all(call, replaced);
  call_destructors(call, executable.last);
}

void replace_user_objects(Call &call, ExecutableGraph &executable, const Graph &graph) {
  ExecutableGraph::UserObjects replaced = std::exchange(executable.user_objects, {});
  hold_user_objects(executable, graph);
  release_all(call, replaced);
  call_destructors(call, executable.last);
}

void release_user_objects(Call &call, ExecutableGraph &executable) {
  release_all(call, executable.user_objects);
}

void require_child(const Graph &graph) {
  require(!graph.has_memory_nodes && graph.conditions.empty() && graph.parent == nullptr,
          CUDA_ERROR_NOT_SUPPORTED);
}

Graph &child_of(Call &call, Graph &parent, const Graph &graph) {
  require_child(graph);
  Graph &made = clone(call.system, graph);
  made.parent = &parent;
  return made;
}

CUresult add_with_dependencies(Call &call, CUgraphNode *out, Graph &graph, const CUgraphNode *dependencies,
                               std::size_t count, const void *data, NodeParameters &&parameters) {
  require(out != nullptr);
  if (const auto *const child = std::get_if<ChildGraph>(&parameters.command)) {
    require_child(*child->graph);
    require(child->graph != &graph);
  }
  const std::vector<GraphNode *> after = nodes_of(call, graph, dependencies, count);
  const std::vector<EdgeData> with = edge_data_of(data, count);
  for (std::size_t i = 0; i < count; ++i)
    require(may_connect(after[i]->command, parameters.command, with[i]));
  if (auto *const child = std::get_if<ChildGraph>(&parameters.command))
    child->graph = &child_of(call, graph, *child->graph);
  if (const auto *const free = std::get_if<MemoryFree>(&parameters.command)) require(!free->memory->is_freed);
  if (auto *const conditional = std::get_if<Conditional>(&parameters.command))
    make_bodies(call, graph, *conditional);
  GraphNode &node = add_node(call.system, graph, std::move(parameters.command), parameters.context);
  for (GraphNode *const each : after) each->scratch = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::exchange(after[i]->scratch, 1) != 0) {  // named twice
      destroy_node(call.system, node, call.name);
      fail(CUDA_ERROR_INVALID_VALUE);
    }
    connect(*after[i], node, with[i]);
  }
  *out = handle_of(node);
  return CUDA_SUCCESS;
}

}  // namespace cushim::sim
