// SPDX-License-Identifier: Apache-2.0
// Creates and destroys nodes of graphs.
#include <algorithm>

#include "node_parameters.hpp"

namespace differential {

namespace {

// Returns whether a graph is the other one or a part of it. A child graph that contains its graph crashes the
// real driver.
bool is_part_of(Walk &w, CUgraph graph, CUgraph other) {
  for (; graph != nullptr; graph = std::ranges::find(objects(w).g, graph, &GraphSlot::handle)->parent) {
    if (graph == other) return true;
    if (std::ranges::find(objects(w).g, graph, &GraphSlot::handle) == objects(w).g.end()) return false;
  }
  return false;
}

// Adds a node by the call for its type.
void add(Walk &w) {
  const auto graph = a_graph(w);
  const CUgraphNodeType type = a_type(w);
  const Nodes after = nodes_before(w, graph.value);
  ChosenParameters p;
  choose_parameters(w, type, p);
  if (is_part_of(w, graph.value, p.graph)) return;
  CUgraphNode made = nullptr;
  const bool is_null = w.dice.once_in(80), has_parameters = !w.dice.once_in(80);
  const auto out = argument(is_null ? nullptr : &made, is_null ? "nullptr" : "&node");
  const auto context =
      w.dice.once_in(12) ? w.dice.one_of<Argument<CUcontext>>({{nullptr, "nullptr"}, {w.shared.c[1], "c[1]"}})
                         : argument(w.shared.c[0], "c[0]");
  const auto with = [&](const auto &parameters) {
    return argument(has_parameters ? &parameters : nullptr, has_parameters ? p.text : "nullptr");
  };
  CUresult code = CUDA_ERROR_UNKNOWN;
  const auto list = after.list();
  const auto size = after.size();
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      code = CALL(w, cuGraphAddKernelNode, out, graph, list, size, with(p.kernel));
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      code = CALL(w, cuGraphAddMemcpyNode, out, graph, list, size, with(p.copy), context);
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      code = CALL(w, cuGraphAddMemsetNode, out, graph, list, size, with(p.set), context);
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      code = CALL(w, cuGraphAddHostNode, out, graph, list, size, with(p.host));
      break;
    case CU_GRAPH_NODE_TYPE_EMPTY:
      code = CALL(w, cuGraphAddEmptyNode, out, graph, list, size);
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      code = CALL(w, cuGraphAddChildGraphNode, out, graph, list, size, argument(p.graph, p.text));
      break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      code = CALL(w, cuGraphAddEventRecordNode, out, graph, list, size, argument(p.event, p.text));
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      code = CALL(w, cuGraphAddEventWaitNode, out, graph, list, size, argument(p.event, p.text));
      break;
    default:
      code = CALL(w, cuGraphAddBatchMemOpNode, out, graph, list, size, with(p.batch));
      break;
  }
  if (code == CUDA_SUCCESS && made != nullptr) has_node(w, made, graph.value, type);
}

// Adds a node of any type by the call for all, with data of edges.
void add_any(Walk &w) {
  const auto graph = a_graph(w);
  const CUgraphNodeType type = w.dice.once_in(20) ? static_cast<CUgraphNodeType>(77) : a_type(w);
  const Nodes after = nodes_before(w, graph.value);
  ChosenParameters p;
  choose_parameters(w, type, p);
  if (is_part_of(w, graph.value, p.graph)) return;
  CUgraphNodeParams all;
  fill(w, p, all);
  if (w.dice.once_in(40)) all.reserved0[1] = 1;
  std::vector<CUgraphEdgeData> data(after.count + 1);
  const bool has_data = w.dice.once_in(3);
  std::string text = "data";
  for (CUgraphEdgeData &one : data) {
    if (!has_data || !w.dice.once_in(3)) continue;
    one.from_port = static_cast<unsigned char>(w.dice.one_of({0U, 1U, 2U, 3U}));
    one.type = static_cast<unsigned char>(w.dice.one_of({0U, 1U, 1U, 2U}));
    text += fmt::format(" {}.{}", one.from_port, one.type);
  }
  CUgraphNode made = nullptr;
  if (CALL(w, cuGraphAddNode, argument(&made, "&node"), graph, after.list(),
           argument<const CUgraphEdgeData *>(has_data ? data.data() : nullptr, has_data ? text : "nullptr"),
           after.size(),
           argument(&all, fmt::format("{} {} {}", static_cast<int>(type), p.text, all.reserved0[1]))) ==
          CUDA_SUCCESS &&
      made != nullptr)
    has_node(w, made, graph.value, type);
}

// The real driver crashes in it in walks about captures.
void destroy(Walk &w) {
  if (w.subject == Subject::captures) return;
  const auto node = a_node(w);
  if (CALL(w, cuGraphDestroyNode, node) == CUDA_SUCCESS) has_ended(w, node.value);
}

void child(Walk &w) {
  const auto node = a_node(w, CU_GRAPH_NODE_TYPE_GRAPH);
  CUgraph graph = nullptr, parent = nullptr;
  for (const NodeSlot &one : objects(w).n)
    if (one.handle == node.value) parent = one.graph;
  if (CALL(w, cuGraphChildGraphNodeGetGraph, node, argument(&graph, "&graph")) != CUDA_SUCCESS) return;
  has_part(w, graph, parent, node.value);
  w.also(name_of(w, graph));
}

void add_conditional(Walk &w) {
  GraphObjects &o = objects(w);
  if (o.conditions.empty()) return;
  const ConditionSlot condition = o.conditions[w.dice.below(static_cast<unsigned>(o.conditions.size()))];
  const auto graph = w.dice.once_in(6) ? a_graph(w) : argument(condition.graph, name_of(w, condition.graph));
  const Nodes after = nodes_before(w, graph.value);
  CUgraphNodeParams all{};
  all.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  all.conditional.handle = condition.handle;
  // A loop would not end, because no kernel of a program sets a condition.
  all.conditional.type =
      w.dice.one_of({CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_SWITCH});
  all.conditional.size = w.dice.one_of({1U, 1U, 2U, 2U, 3U, 0U});
  all.conditional.ctx = w.dice.once_in(8) ? nullptr : w.shared.c[0];
  CUgraphNode made = nullptr;
  const std::string text =
      fmt::format("conditional {} {} {}", static_cast<int>(all.conditional.type), all.conditional.size,
                  all.conditional.ctx == nullptr ? "null" : "c[0]");
  if (CALL(w, cuGraphAddNode, argument(&made, "&node"), graph, after.list(),
           argument<const CUgraphEdgeData *>(nullptr, "nullptr"), after.size(),
           argument(&all, text)) != CUDA_SUCCESS ||
      made == nullptr)
    return;
  has_node(w, made, graph.value, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  if (all.conditional.phGraph_out == nullptr) return w.also("no bodies");
  for (unsigned i = 0; i < all.conditional.size; ++i)
    has_part(w, all.conditional.phGraph_out[i], graph.value, made);
}

}  // namespace

Choices graph_node_choices() {
  return Choices({
      {14, add},
      {7, add_any},
      {3, destroy},
      {2, child},
      {3, add_conditional},
  });
}

}  // namespace differential
