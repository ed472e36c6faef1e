// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_node_calls(Calls &calls) {
  CALL(cuGraphAddKernelNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.in(kernel_parameters(o)))
      .with_current_context();
  CALL(cuGraphKernelNodeGetParams, o.kernel_node(), o.hidden<CUDA_KERNEL_NODE_PARAMS>());
  CALL(cuGraphKernelNodeSetParams, o.kernel_node(), o.in(kernel_parameters(o))).with_current_context();
  CALL(cuGraphKernelNodeCopyAttributes, o.kernel_node(), o.kernel_node());
  CALL(cuGraphKernelNodeGetAttribute, o.kernel_node(), CU_LAUNCH_ATTRIBUTE_PRIORITY,
       o.hidden<CUkernelNodeAttrValue>())
      .without({"value_out=null"});  // the real driver crashes
  for (int id = 0; id < 20; ++id)
    for (const int value : {-6, -1, 0, 1, 2, 3, 16}) {
      CUkernelNodeAttrValue attribute{};
      attribute.priority = value;
      CALL_AS(std::to_string(id) + "," + std::to_string(value), cuGraphKernelNodeSetAttribute,
              fixed(o.kernel_node()), fixed(static_cast<CUkernelNodeAttrID>(id)),
              fixed(o.list({attribute}).first));
    }

  CALL(cuGraphAddMemcpyNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.in(copy_3d(o)), o.context());
  CALL_AS("host", cuGraphAddMemcpyNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}),
          Count{1}, o.in(copy_3d_to_host(o)), o.context());
  CALL_AS("array", cuGraphAddMemcpyNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}),
          Count{1}, o.in(copy_3d_from_array(o)), o.context());
  CALL(cuGraphMemcpyNodeGetParams, o.copy_node(), o.hidden<CUDA_MEMCPY3D>());
  CALL(cuGraphMemcpyNodeSetParams, o.copy_node(), o.in(copy_3d(o)));

  CALL(cuGraphAddMemsetNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.in(memset_parameters(o)), o.context());
  CALL(cuGraphMemsetNodeGetParams, o.memset_node(), o.hidden<CUDA_MEMSET_NODE_PARAMS>());
  CALL(cuGraphMemsetNodeSetParams, o.memset_node(), o.in(memset_parameters(o)));

  CALL(cuGraphAddHostNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.in(host_parameters(o)));
  CALL(cuGraphHostNodeGetParams, o.host_node(), o.hidden<CUDA_HOST_NODE_PARAMS>());
  CALL(cuGraphHostNodeSetParams, o.host_node(), o.in(host_parameters(o)));

  CALL(cuGraphAddChildGraphNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.child_graph());
  CALL(cuGraphChildGraphNodeGetGraph, o.child_node(), o.hidden<CUgraph>());
  CALL(cuGraphAddEmptyNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1});
  CALL(cuGraphAddEventRecordNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.event());
  CALL(cuGraphEventRecordNodeGetEvent, o.record_node(), o.hidden<CUevent>());
  CALL(cuGraphEventRecordNodeSetEvent, o.record_node(), o.other_event());
  CALL(cuGraphAddEventWaitNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.event());
  CALL(cuGraphEventWaitNodeGetEvent, o.wait_node(), o.hidden<CUevent>());
  CALL(cuGraphEventWaitNodeSetEvent, o.wait_node(), o.other_event());

  // The operations that a count or a null pointer would need are not there.
  CALL(cuGraphAddBatchMemOpNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.in(batch_parameters(o)))
      .without({"nodeParams.count*", "nodeParams.paramArray=null"});
  CALL(cuGraphBatchMemOpNodeGetParams, o.batch_node(), o.hidden<CUDA_BATCH_MEM_OP_NODE_PARAMS>());
  CALL(cuGraphBatchMemOpNodeSetParams, o.batch_node(), o.in(batch_parameters(o)))
      .without({"nodeParams.count*", "nodeParams.paramArray=null"});

  CALL(cuGraphAddMemAllocNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.empty_node()}), Count{1},
       o.in(allocation_parameters()))
      .without({"nodeParams.accessDescCount*"});
  CALL(cuGraphMemAllocNodeGetParams, o.allocation_node(), o.hidden<CUDA_MEM_ALLOC_NODE_PARAMS>());
  CALL(cuGraphAddMemFreeNode, o.hidden<CUgraphNode>(), o.graph(), o.list({o.allocation_node()}), Count{1},
       o.allocation_of_node());
}

}  // namespace arguments
