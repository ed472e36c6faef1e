// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_executable_graph_calls(Calls &calls) {
  CALL(cuGraphInstantiate, o.made<CUgraphExec>(), (o.kernel_node(), o.graph()), 0ULL);
  CALL(cuGraphInstantiateWithParams, o.made<CUgraphExec>(), (o.kernel_node(), o.graph()),
       o.in(CUDA_GRAPH_INSTANTIATE_PARAMS{}));
  CALL(cuGraphExecDestroy, o.executable(o.kernel_node())).destroys();
  CALL(cuGraphExecGetFlags, o.executable(o.kernel_node()), o.out<cuuint64_t>());
  CALL(cuGraphUpload, o.executable(o.kernel_node()), o.stream());
  CALL(cuGraphLaunch, o.executable(o.kernel_node()), o.stream());
  CALL(cuGraphExecUpdate, o.executable(o.kernel_node()), o.graph(), o.hidden<CUgraphExecUpdateResultInfo>());
  CALL_AS("other", cuGraphExecUpdate, o.executable(o.kernel_node()), o.child_graph(),
          o.hidden<CUgraphExecUpdateResultInfo>());
  CALL(cuGraphNodeSetEnabled, o.executable(o.kernel_node()), o.kernel_node(), 1U);
  CALL(cuGraphNodeGetEnabled, o.executable(o.kernel_node()), o.kernel_node(), o.out<unsigned>());
  CALL_AS("copy", cuGraphNodeSetEnabled, o.executable(o.copy_node()), o.copy_node(), 0U);
  CALL_AS("host", cuGraphNodeSetEnabled, o.executable(o.host_node()), o.host_node(), 0U);
  CALL_AS("host", cuGraphNodeGetEnabled, o.executable(o.host_node()), o.host_node(), o.out<unsigned>());
  CALL(cuGraphExecKernelNodeSetParams, o.executable(o.kernel_node()), o.kernel_node(),
       o.in(kernel_parameters(o)))
      .with_current_context();
  CALL(cuGraphExecMemcpyNodeSetParams, o.executable(o.copy_node()), o.copy_node(), o.in(copy_3d(o)),
       o.context());
  CALL(cuGraphExecMemsetNodeSetParams, o.executable(o.memset_node()), o.memset_node(),
       o.in(memset_parameters(o)), o.context());
  CALL(cuGraphExecHostNodeSetParams, o.executable(o.host_node()), o.host_node(), o.in(host_parameters(o)));
  CALL(cuGraphExecChildGraphNodeSetParams, o.executable(o.child_node()), o.child_node(), o.child_graph());
  CALL(cuGraphExecEventRecordNodeSetEvent, o.executable(o.record_node()), o.record_node(), o.other_event());
  CALL(cuGraphExecEventWaitNodeSetEvent, o.executable(o.wait_node()), o.wait_node(), o.other_event());
  CALL(cuGraphExecBatchMemOpNodeSetParams, o.executable(o.batch_node()), o.batch_node(),
       o.in(batch_parameters(o)))
      .without({"nodeParams.count*", "nodeParams.paramArray=null"});
}

}  // namespace arguments
