// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_graph_calls(Calls &calls) {
  CALL(cuGraphCreate, o.made<CUgraph>(), 0U);
  CALL(cuGraphDestroy, o.child_graph()).destroys();
  CALL(cuGraphClone, o.made<CUgraph>(), (o.empty_node(), o.graph()));
  CALL(cuGraphNodeFindInClone, o.hidden<CUgraphNode>(), o.empty_node(), o.child_graph());
  CALL(cuGraphNodeGetType, o.empty_node(), o.out<CUgraphNodeType>());
  CALL(cuGraphGetNodes, (o.next_node(), o.graph()), o.hidden<CUgraphNode>(), o.in_out<std::size_t>(4));
  CALL(cuGraphGetRootNodes, (o.next_node(), o.graph()), o.hidden<CUgraphNode>(), o.in_out<std::size_t>(4));
  CALL(cuGraphGetEdges, (o.next_node(), o.graph()), o.hidden<CUgraphNode>(), o.hidden<CUgraphNode>(),
       o.hidden<CUgraphEdgeData>(), o.in_out<std::size_t>(4));
  CALL(cuGraphNodeGetDependencies, o.next_node(), o.hidden<CUgraphNode>(), o.hidden<CUgraphEdgeData>(),
       o.in_out<std::size_t>(4));
  CALL(cuGraphNodeGetDependentNodes, (o.next_node(), o.empty_node()), o.hidden<CUgraphNode>(),
       o.hidden<CUgraphEdgeData>(), o.in_out<std::size_t>(4));
  CALL(cuGraphAddDependencies, o.graph(), o.list({o.empty_node()}), o.list({o.kernel_node()}), nullptr,
       Count{1});
  CALL_AS("data", cuGraphAddDependencies, o.graph(), o.list({o.kernel_node()}), o.list({o.empty_node()}),
          o.in(CUgraphEdgeData{}), Count{1});
  CALL(cuGraphRemoveDependencies, (o.next_node(), o.graph()), o.list({o.empty_node()}),
       o.list({o.next_node()}), nullptr, Count{1});
  CALL(cuGraphDestroyNode, o.next_node());
  CALL(cuGraphDebugDotPrint, o.graph(), "/dev/null", 0U).without({"path=nope"});
  CALL(cuUserObjectCreate, o.made<CUuserObject>(), o.pageable(), fixed<CUhostFn>(do_nothing), 1U, 1U);
  CALL(cuUserObjectRetain, o.user_object(), 1U);
  CALL(cuUserObjectRelease, o.user_object(), 1U);
  CALL(cuGraphRetainUserObject, o.graph(), o.user_object(), 1U, 0U);
  CALL(cuGraphReleaseUserObject, o.graph(), o.user_object(), 1U);
  CALL(cuGraphConditionalHandleCreate, o.hidden<CUgraphConditionalHandle>(), o.graph(), o.context(), 0U, 0U);
}

}  // namespace arguments
