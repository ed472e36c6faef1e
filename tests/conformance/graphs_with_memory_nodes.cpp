// SPDX-License-Identifier: Apache-2.0
// The calls that a graph with memory nodes does not allow. A call that could not add such a node has the same
// effect.
#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

class GraphsWithMemoryNodes : public OnGraph {
 protected:
  // Returns a graph with two nodes and an edge.
  CUgraph marked() {
    const CUgraph made = graph();
    first = empty(made);
    second = empty(made, {first});
    EXPECT_ANSWER(driver().cuGraphAddMemFreeNode(&node_out, made, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
    return made;
  }
  CUgraphNode first = nullptr, second = nullptr;
};

TEST_F(GraphsWithMemoryNodes, Keep_their_nodes) {
  marked();
  EXPECT_ANSWER(driver().cuGraphDestroyNode(second), CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(GraphsWithMemoryNodes, Keep_their_edges) {
  const CUgraph g = marked();
  EXPECT_ANSWER(driver().cuGraphRemoveDependencies(g, &first, &second, nullptr, 1), CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(GraphsWithMemoryNodes, Have_one_executable_graph_at_a_time) {
  const CUgraph g = marked();
  executable(g);
  EXPECT_ANSWER(driver().cuGraphInstantiate(&executable_out, g, 0), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace conformance

#endif
