// SPDX-License-Identifier: Apache-2.0
// Graphs as a whole, edges, user objects, and handles of conditions.
#include <unistd.h>

#include <algorithm>

#include "graph_objects.hpp"

namespace differential {
namespace {

void create(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = free_graph_slot(w);
  if (at == o.g.size()) return;
  const auto flags = number(w.dice.once_in(20) ? 1U : 0U);
  if (CALL(w, cuGraphCreate, argument(&o.g[at].handle, fmt::format("&g[{}]", at)), flags) == CUDA_SUCCESS)
    o.g[at] = {o.g[at].handle, nullptr, nullptr, nullptr};
  else
    o.g[at] = {};
}

void destroy(Walk &w) {
  const auto graph = a_graph(w);
  const auto slot = std::ranges::find(objects(w).g, graph.value, &GraphSlot::handle);
  if (graph.value != nullptr && slot != objects(w).g.end() && slot->captured_by != nullptr) return;
  settle(w);
  if (CALL(w, cuGraphDestroy, graph) == CUDA_SUCCESS) has_ended(w, graph.value);
}

void clone(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = free_graph_slot(w);
  if (at == o.g.size()) return;
  const auto graph = a_graph(w);
  CUgraph made = nullptr;
  if (CALL(w, cuGraphClone, argument(&made, fmt::format("&g[{}]", at)), graph) != CUDA_SUCCESS) return;
  o.g[at] = {made, nullptr, nullptr, nullptr};
  describe(w, made);
  const std::vector<NodeSlot> before = o.n;
  for (const NodeSlot &node : before) {
    if (node.graph != graph.value) continue;
    CUgraphNode twin = nullptr;
    if (CALL(w, cuGraphNodeFindInClone, argument(&twin, "&twin"),
             argument(node.handle, name_of(w, node.handle)),
             argument(made, fmt::format("g[{}]", at))) == CUDA_SUCCESS)
      has_node(w, twin, made, node.type);
  }
}

void find_in_clone(Walk &w) {
  const auto node = a_node(w);
  const auto graph = a_graph(w);
  CUgraphNode found = nullptr;
  if (CALL(w, cuGraphNodeFindInClone, argument(&found, "&found"), node, graph) == CUDA_SUCCESS)
    w.also(name_of(w, found));
}

void nodes(Walk &w) {
  const auto graph = a_graph(w);
  std::array<CUgraphNode, 64> all{};
  Result<std::size_t> count("count");
  count.value = w.dice.one_of<std::size_t>({64, 64, 2, 0});
  const bool has_array = !w.dice.once_in(4);
  const auto list =
      argument(has_array ? all.data() : nullptr, has_array ? fmt::format("all[{}]", count.value) : "nullptr");
  const CUresult code = w.dice.once_in(2) ? CALL(w, cuGraphGetNodes, graph, list, count.argument())
                                          : CALL(w, cuGraphGetRootNodes, graph, list, count.argument());
  if (code != CUDA_SUCCESS) return;
  w.also_number(count);
  for (CUgraphNode node : all)
    if (node != nullptr) w.also(name_of(w, node));
}

std::string text_of(const CUgraphEdgeData &data) {
  return fmt::format("{}.{}.{}", data.from_port, data.to_port, data.type);
}

void edges(Walk &w) {
  const auto graph = a_graph(w);
  std::array<CUgraphNode, 128> from{}, to{};
  std::array<CUgraphEdgeData, 128> data{};
  Result<std::size_t> count("count");
  count.value = w.dice.one_of<std::size_t>({128, 128, 2, 0});
  const unsigned how = w.dice.below(6);
  const CUresult code = CALL(
      w, cuGraphGetEdges, graph, argument(how == 0 ? nullptr : from.data(), how == 0 ? "nullptr" : "from"),
      argument(how <= 1 ? nullptr : to.data(), how <= 1 ? "nullptr" : fmt::format("to[{}]", count.value)),
      argument(how == 2 ? nullptr : data.data(), how == 2 ? "nullptr" : "data"), count.argument());
  if (count.is_set()) w.also_number(count);
  if (code != CUDA_SUCCESS) return;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != nullptr || to[i] != nullptr)
      w.also(name_of(w, from[i]) + ">" + name_of(w, to[i]) + (how == 2 ? "" : ":" + text_of(data[i])));
}

void neighbours(Walk &w) {
  const auto node = a_node(w);
  std::array<CUgraphNode, 32> all{};
  std::array<CUgraphEdgeData, 32> data{};
  Result<std::size_t> count("count");
  count.value = w.dice.one_of<std::size_t>({32, 32, 1});
  const unsigned how = w.dice.below(6);
  const auto list =
      argument(how == 0 ? nullptr : all.data(), how == 0 ? "nullptr" : fmt::format("all[{}]", count.value));
  const auto edge_data = argument(how <= 1 ? nullptr : data.data(), how <= 1 ? "nullptr" : "data");
  const CUresult code = w.dice.once_in(2)
                            ? CALL(w, cuGraphNodeGetDependencies, node, list, edge_data, count.argument())
                            : CALL(w, cuGraphNodeGetDependentNodes, node, list, edge_data, count.argument());
  if (count.is_set()) w.also_number(count);
  if (code != CUDA_SUCCESS) return;
  for (CUgraphNode one : all)
    if (one != nullptr) w.also(name_of(w, one));
}

struct EdgeList {
  std::vector<CUgraphNode> from, to;
  std::vector<CUgraphEdgeData> data;
  std::string text;
};
void choose_edges(Walk &w, CUgraph graph, EdgeList &list, bool has_data) {
  std::vector<CUgraphNode> own;
  for (const NodeSlot &node : objects(w).n)
    if (node.graph == graph) own.push_back(node.handle);
  const unsigned count = w.dice.one_of({1U, 1U, 1U, 2U, 3U, 0U});
  for (unsigned i = 0; i < count && !own.empty(); ++i) {
    unsigned a = w.dice.below(static_cast<unsigned>(own.size())),
             b = w.dice.below(static_cast<unsigned>(own.size()));
    // Edges to older nodes may close cycles.
    if (a > b && !w.dice.once_in(12)) std::swap(a, b);
    list.from.push_back(own[a]);
    list.to.push_back(w.dice.once_in(40) ? nullptr : own[b]);
    CUgraphEdgeData data{};
    if (has_data && w.dice.once_in(2)) {
      data.from_port = static_cast<unsigned char>(w.dice.one_of({0U, 1U, 2U, 3U}));
      data.type = static_cast<unsigned char>(w.dice.one_of({0U, 1U, 1U, 2U}));
      data.to_port = static_cast<unsigned char>(w.dice.once_in(10) ? 1 : 0);
    }
    list.data.push_back(data);
    list.text +=
        fmt::format(" {}>{}:{}", name_of(w, list.from.back()), name_of(w, list.to.back()), text_of(data));
  }
}

void change_edges(Walk &w) {
  const auto graph = a_graph(w);
  const bool has_data = w.dice.once_in(2);
  EdgeList list;
  choose_edges(w, graph.value, list, has_data);
  const auto from = argument<const CUgraphNode *>(list.from.data(), list.text),
             to = argument<const CUgraphNode *>(list.to.data(), "");
  const auto data =
      argument<const CUgraphEdgeData *>(has_data ? list.data.data() : nullptr, has_data ? "data" : "nullptr");
  const auto count = bytes(list.from.size());
  if (w.dice.once_in(3))
    CALL(w, cuGraphRemoveDependencies, graph, from, to, data, count);
  else
    CALL(w, cuGraphAddDependencies, graph, from, to, data, count);
}

// Removes an edge that exists.
void remove_edge(Walk &w) {
  const auto graph = a_graph(w);
  std::array<CUgraphNode, 64> from{}, to{};
  std::array<CUgraphEdgeData, 64> data{};
  std::size_t count = from.size();
  if (graph.value == nullptr ||
      driver().cuGraphGetEdges(graph.value, from.data(), to.data(), data.data(), &count) != CUDA_SUCCESS ||
      count == 0)
    return;
  std::vector<std::pair<std::string, std::size_t>> named;
  for (std::size_t i = 0; i < count; ++i)
    named.emplace_back(name_of(w, from[i]) + ">" + name_of(w, to[i]), i);
  std::ranges::sort(named);
  const auto &[text, at] = named[w.dice.below(static_cast<unsigned>(count))];
  const bool has_data = w.dice.once_in(2);
  CALL(w, cuGraphRemoveDependencies, graph, argument<const CUgraphNode *>(&from[at], text),
       argument<const CUgraphNode *>(&to[at], ""),
       argument<const CUgraphEdgeData *>(has_data ? &data[at] : nullptr, has_data ? "its data" : "nullptr"),
       bytes(1));
}

void describe_one(Walk &w) {
  const auto graph = a_graph(w);
  Result<std::size_t> count("count");
  if (CALL(w, cuGraphGetNodes, graph, argument<CUgraphNode *>(nullptr, "nullptr"), count.argument()) ==
      CUDA_SUCCESS)
    describe(w, graph.value);
}

void print(Walk &w) {
  const auto graph = a_graph(w);
  const std::string path = fmt::format("/tmp/cushim_walk_{}.dot", getpid());
  const bool is_bad = w.dice.once_in(8);
  const auto flags = number(w.dice.one_of({0U, 1U, 16U, 65535U, 1U << 20}));
  CALL(w, cuGraphDebugDotPrint, graph,
       argument<const char *>(is_bad ? "/absent/file" : path.c_str(), is_bad ? "absent" : "path"), flags);
  ::unlink(path.c_str());
}

// ---- User objects ----

void destructor(void *counter) { ++*static_cast<std::atomic<unsigned> *>(counter); }

void create_user_object(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = w.dice.below(3);
  if (o.users[at] != nullptr) return;
  const auto references = number(w.dice.one_of({1U, 1U, 2U, 3U, 0U}));
  const auto flags = number(w.dice.one_of({1U, 1U, 1U, 1U, 0U, 2U}));
  const bool is_null = w.dice.once_in(20);
  if (CALL(w, cuUserObjectCreate, argument(&o.users[at], fmt::format("&users[{}]", at)),
           Argument<void *>{&o.destructors, "&destructors"},
           argument<CUhostFn>(is_null ? nullptr : destructor, is_null ? "nullptr" : "destructor"), references,
           flags) == CUDA_SUCCESS)
    o.user_references[at] = references.value;
  else
    o.users[at] = nullptr;
}

// Uses an object only while the program has a reference to it.
void use_user_object(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = w.dice.below(3);
  const auto count = number(w.dice.one_of({1U, 1U, 1U, 2U, 0U}));
  const auto graph = a_graph(w);
  if (o.users[at] == nullptr) {
    if (w.dice.once_in(5)) CALL(w, cuUserObjectRetain, argument<CUuserObject>(nullptr, "nullptr"), count);
    return;
  }
  const auto user = argument(o.users[at], fmt::format("users[{}]", at));
  switch (w.dice.below(6)) {
    case 0:
      if (CALL(w, cuUserObjectRetain, user, count) == CUDA_SUCCESS) o.user_references[at] += count.value;
      break;
    case 1:
      if (count.value > o.user_references[at]) return;
      if (CALL(w, cuUserObjectRelease, user, count) == CUDA_SUCCESS) o.user_references[at] -= count.value;
      break;
    case 2:
      CALL(w, cuGraphReleaseUserObject, graph, user, count);
      break;
    default: {
      const auto flags = number(w.dice.one_of({0U, 0U, 1U, 1U, 2U}));
      if (flags.value == 1 && count.value > o.user_references[at]) return;
      if (CALL(w, cuGraphRetainUserObject, graph, user, count, flags) == CUDA_SUCCESS && flags.value == 1)
        o.user_references[at] -= count.value;
    }
  }
  if (o.user_references[at] == 0) o.users[at] = nullptr;
}

void create_condition(Walk &w) {
  const auto graph = a_graph(w);
  const auto context = w.dice.one_of<Argument<CUcontext>>({{w.shared.c[0], "c[0]"},
                                                           {w.shared.c[0], "c[0]"},
                                                           {w.shared.c[0], "c[0]"},
                                                           {nullptr, "nullptr"},
                                                           {w.shared.c[1], "c[1]"}});
  const auto value = number(w.dice.below(3)), flags = number(w.dice.one_of({1U, 1U, 1U, 0U, 2U}));
  CUgraphConditionalHandle handle = 0;
  if (CALL(w, cuGraphConditionalHandleCreate, argument(&handle, "&handle"), graph, context, value, flags) ==
      CUDA_SUCCESS)
    objects(w).conditions.push_back({handle, graph.value});
}

}  // namespace

Choices new_graph_choices() { return {{4, create}, {1, describe_one}}; }

Choices graph_choices() {
  return Choices({
      {6, create},
      {2, destroy},
      {2, clone},
      {1, find_in_clone},
      {2, nodes},
      {2, edges},
      {2, neighbours},
      {6, change_edges},
      {3, remove_edge},
      {3, describe_one},
      {1, print},
      {2, create_user_object},
      {4, use_user_object},
      {2, create_condition},
  });
}

}  // namespace differential
