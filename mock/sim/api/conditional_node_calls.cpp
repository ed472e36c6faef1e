// SPDX-License-Identifier: Apache-2.0
// Conditional handles, and the rules of conditional nodes. Sources: CUDA_CONDITIONAL_NODE_PARAMS and
// cuGraphConditionalHandleCreate in cuda.h, and "Conditional Graph Nodes" in the CUDA C++ Programming Guide.
// Error codes: measured on an H200, driver 580.159.
#include <algorithm>

#include "api/graph_objects.hpp"
#include "commands/submit.hpp"
#include "graphs/condition.hpp"

namespace cushim::sim {

void make_bodies(Call &call, Graph &graph, Conditional &conditional) {
  for (Graph *&body : conditional.bodies) {
    body = &make_graph(call.system);
    body->parent = &graph;
    body->is_body = true;
    conditional.handles.push_back(handle_of(*body));
  }
  conditional.condition->has_node = true;
}

namespace {

// Returns the error of a copy in a body. INVALID_VALUE, thrown, if its memory does not exist or if the
// context has no access to it.
CUresult error_of(Call &call, const GraphNode &node, const Memcpy &copy) {
  const bool has_array = copy.parameters().srcMemoryType == CU_MEMORYTYPE_ARRAY ||
                         copy.parameters().dstMemoryType == CU_MEMORYTYPE_ARRAY;
  if (has_array) return CUDA_ERROR_NOT_SUPPORTED;
  const PreparedCommand prepared = prepare(call, call.context(node.context), copy);
  const bool is_pageable = std::ranges::any_of(prepared.uses, &CopyEndpoint::is_pageable);
  return is_pageable ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

// Returns the error of a node in a body; CUDA_SUCCESS if it is allowed there.
CUresult error_of(Call &call, const GraphNode &node, const GraphCondition &within) {
  const Command &command = node.command;
  if (std::holds_alternative<Empty>(command) || std::holds_alternative<ChildGraph>(command))
    return CUDA_SUCCESS;
  const auto *const copy = std::get_if<Memcpy>(&command);
  const bool is_allowed = copy != nullptr || std::holds_alternative<Memset>(command) ||
                          std::holds_alternative<KernelLaunch>(command) ||
                          std::holds_alternative<Conditional>(command);
  if (!is_allowed) return CUDA_ERROR_INVALID_VALUE;
  // A copy may be in another context: measured, driver 580.
  if (copy == nullptr && node.context != within.context) return CUDA_ERROR_INVALID_VALUE;
  return copy != nullptr ? error_of(call, node, *copy) : CUDA_SUCCESS;
}

// Checks a graph, or a body that a condition chooses; the last body first (measured on an H200, driver 580).
Refusal refusal_of(Call &call, const Graph &graph, const GraphCondition *within) {
  constexpr int kForbiddenNode = 3;  // CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
  Refusal found;
  if (within == nullptr && !graph.has_conditional_nodes && !graph.has_child_graphs) return found;
  graph.for_each_node([&](const GraphNode &node) {
    if (found.code == CUDA_SUCCESS && within != nullptr) {
      found.code = error_of(call, node, *within);
      if (found.code != CUDA_SUCCESS) found = {found.code, kForbiddenNode, handle_of(node)};
    }
    const auto *const child = std::get_if<ChildGraph>(&node.command);
    if (found.code == CUDA_SUCCESS && child != nullptr) found = refusal_of(call, *child->graph, within);
    const auto *const conditional = std::get_if<Conditional>(&node.command);
    if (conditional == nullptr) return;
    for (auto body = conditional->bodies.rbegin(); body != conditional->bodies.rend(); ++body)
      if (found.code == CUDA_SUCCESS) found = refusal_of(call, **body, conditional->condition.get());
  });
  return found;
}

}  // namespace

Refusal refusal_of(Call &call, const Graph &graph) { return refusal_of(call, graph, nullptr); }

bool has_unused_condition(const Graph &graph) {
  for (const auto &[context, conditions] : graph.conditions)
    for (const auto &condition : conditions)
      if (!condition->has_node) return true;
  return false;
}

#if CUDA_VERSION >= 12030

namespace {

static_assert(static_cast<int>(ConditionalType::if_else) == CU_GRAPH_COND_TYPE_IF);
static_assert(static_cast<int>(ConditionalType::while_loop) == CU_GRAPH_COND_TYPE_WHILE);
#if CUDA_VERSION >= 12080
static_assert(static_cast<int>(ConditionalType::switch_case) == CU_GRAPH_COND_TYPE_SWITCH);
#endif

CUresult create_handle(Call &call, CUgraphConditionalHandle *out, CUgraph handle, CUcontext context,
                       unsigned value, unsigned flags) {
  require(out != nullptr && (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) == 0);
  Graph &graph = root_of(graph_of(call, handle));
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);  // measured, driver 580
  require_no_fault(call.context(context));
  auto &conditions = graph.conditions[context];
  const auto number = static_cast<unsigned>(conditions.size() + 1);
  auto made = std::make_shared<GraphCondition>(call.system, number, context);
  if (flags != 0) made->at_launch = value;
  *out = made->handle;
  conditions.push_back(std::move(made));
  return CUDA_SUCCESS;
}

bool is_size(ConditionalType type, unsigned size) {
  switch (type) {
    case ConditionalType::if_else:
      return size == 1 || size == 2;
    case ConditionalType::while_loop:
      return size == 1;
    case ConditionalType::switch_case:
      return size != 0;
  }
  return false;  // no type
}

}  // namespace

NodeParameters parameters_of(Call &call, const CUDA_CONDITIONAL_NODE_PARAMS &parameters) {
  // The order of the errors: measured, driver 580.
  const auto type = static_cast<ConditionalType>(parameters.type);
  require(is_size(type, parameters.size));
  require(parameters.ctx != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  require_no_fault(call.context(parameters.ctx));
  return {Conditional{nullptr, type, std::vector<Graph *>(parameters.size)}, parameters.ctx};
}

void set_condition(NodeParameters &with, const Graph &graph, const CUDA_CONDITIONAL_NODE_PARAMS &parameters) {
  auto &condition = std::get<Conditional>(with.command).condition;
  condition = condition_for_node(graph, with.context, parameters.handle);
  require(condition != nullptr);
}

CUDA_CONDITIONAL_NODE_PARAMS parameters_of(GraphNode &node) {
  auto &command = command_of<Conditional>(node);
  return {command.condition->handle, static_cast<CUgraphConditionalNodeType>(command.type),
          static_cast<unsigned>(command.handles.size()), command.handles.data(), node.context};
}

constinit const Entries entries_of_conditional_nodes = {
    entry<"cuGraphConditionalHandleCreate", create_handle>,
};

#endif

}  // namespace cushim::sim
