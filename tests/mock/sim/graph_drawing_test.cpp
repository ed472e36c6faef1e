// SPDX-License-Identifier: Apache-2.0
// Graphviz draws what cuGraphDebugDotPrint writes.
#include "graph_calls.hpp"

#if CUDA_VERSION >= 13000

#include <cstdlib>
#include <string>

#include "support/folder.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

// Returns how often a word is in a text.
std::size_t count_of(const std::string &word, const std::string &text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

// A graph with nodes of most types, each of which depends on the one before it.
class Chain {
 public:
  Chain() { need(driver().cuCtxGetCurrent(&context_)); }

  void add(CUgraphNodeParams parameters) {
    const CUgraphNode after = last_;
    need(driver().cuGraphAddNode(&last_, graph, &after, nullptr, after == nullptr ? 0 : 1, &parameters));
    ++nodes;
  }
  void add(CUgraphNodeType type) { add(node_of(type)); }
  void add_set(CUdeviceptr to) {
    CUgraphNodeParams node = node_of(CU_GRAPH_NODE_TYPE_MEMSET);
    node.memset.dst = to;
    node.memset.elementSize = 4;
    node.memset.width = node.memset.height = 1;
    node.memset.ctx = context_;
    add(node);
  }
  void add_host_function() {
    CUgraphNodeParams node = node_of(CU_GRAPH_NODE_TYPE_HOST);
    node.host.fn = [](void *) {};
    add(node);
  }
  void add_event(CUgraphNodeType type, CUevent event) {
    CUgraphNodeParams node = node_of(type);
    node.eventRecord.event = event;
    add(node);
  }
  void add_child(CUgraph child) {
    CUgraphNodeParams node = node_of(CU_GRAPH_NODE_TYPE_GRAPH);
    node.graph.graph = child;
    add(node);
  }
  // Adds a switch with two bodies, each with a node.
  void add_switch() {
    CUgraphConditionalHandle handle = 0;
    need(driver().cuGraphConditionalHandleCreate(&handle, graph, context_, 0, 0));
    CUgraphNodeParams node = test::conditional_node(handle, CU_GRAPH_COND_TYPE_SWITCH, 2, context_);
    const CUgraphNode after = last_;
    need(driver().cuGraphAddNode(&last_, graph, &after, nullptr, 1, &node));
    ++nodes;
    for (unsigned body = 0; body < 2; ++body, ++nodes) {
      CUgraphNode made = nullptr;
      need(driver().cuGraphAddEmptyNode(&made, node.conditional.phGraph_out[body], nullptr, 0));
    }
  }

  const CUgraph graph = make_graph();
  std::size_t nodes = 0;  // of the graph and its parts

 private:
  static CUgraphNodeParams node_of(CUgraphNodeType type) {
    CUgraphNodeParams node{};
    node.type = type;
    return node;
  }

  CUcontext context_ = nullptr;
  CUgraphNode last_ = nullptr;
};

TEST(PrintedGraphs, Are_drawn_by_Graphviz_with_all_nodes_and_edges) {
  if (std::system("dot -V 2>/dev/null") != 0) GTEST_SKIP() << "Graphviz is not installed";
  const Running running;
  const CUgraph child = make_graph();
  Chain chain;
  chain.add(CU_GRAPH_NODE_TYPE_EMPTY);
  chain.add_set(running.memory());
  chain.add_host_function();
  chain.add_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, running.event());
  chain.add_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, running.event());
  chain.add_switch();
  CUgraphNode in_child = nullptr;
  need(driver().cuGraphAddEmptyNode(&in_child, child, nullptr, 0));
  chain.add_child(child);
  const Folder folder;
  for (const unsigned flags : {0U, unsigned{CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE}, 0xFFFFU}) {
    const std::string text = folder.path("graph.dot"), picture = folder.path("graph.svg");
    const std::string messages = folder.path("messages");
    need(driver().cuGraphDebugDotPrint(chain.graph, text.c_str(), flags));
    const std::string command = "dot -Tsvg -o " + picture + " " + text + " 2> " + messages;
    EXPECT_EQ(std::system(command.c_str()), 0) << bytes_of(text);
    EXPECT_EQ(bytes_of(messages), "");
    const std::string drawn = bytes_of(picture);
    EXPECT_EQ(count_of("class=\"node\"", drawn), chain.nodes + 1) << drawn;  // and the node of the child
    EXPECT_EQ(count_of("class=\"edge\"", drawn), 6U) << drawn;
    EXPECT_EQ(count_of("class=\"cluster\"", drawn), 3U) << drawn;  // two bodies and the child
  }
}

}  // namespace
}  // namespace cushim::sim

#endif
