// SPDX-License-Identifier: Apache-2.0
// Graphs, nodes and user objects.
#include "make_object.hpp"

namespace arguments {

CUgraph Objects::graph() {
  return once<CUgraph>("graph", [this](CUgraph *made) { return driver_->cuGraphCreate(made, 0); });
}
CUgraph Objects::child_graph() {
  return once<CUgraph>("child graph", [this](CUgraph *made) {
    CUgraphNode added = nullptr;
    check(driver_->cuGraphCreate(made, 0), "child graph");
    return driver_->cuGraphAddEmptyNode(&added, *made, nullptr, 0);
  });
}
CUgraphNode Objects::empty_node() {
  return node("empty node",
              [this](CUgraphNode *made) { return driver_->cuGraphAddEmptyNode(made, graph(), nullptr, 0); });
}
CUgraphNode Objects::next_node() {
  return node("next node", [this](CUgraphNode *made) {
    const CUgraphNode before = empty_node();
    return driver_->cuGraphAddEmptyNode(made, graph(), &before, 1);
  });
}
CUgraphNode Objects::kernel_node() {
  return node_with("kernel node", kernel_parameters, &cushim::Driver::cuGraphAddKernelNode);
}
CUgraphNode Objects::copy_node() {
  return node("copy node", [this](CUgraphNode *made) {
    const CUDA_MEMCPY3D copy = copy_3d(*this);
    return driver_->cuGraphAddMemcpyNode(made, graph(), nullptr, 0, &copy, context());
  });
}
CUgraphNode Objects::memset_node() {
  return node("memset node", [this](CUgraphNode *made) {
    const CUDA_MEMSET_NODE_PARAMS parameters = memset_parameters(*this);
    return driver_->cuGraphAddMemsetNode(made, graph(), nullptr, 0, &parameters, context());
  });
}
CUgraphNode Objects::host_node() {
  return node_with("host node", host_parameters, &cushim::Driver::cuGraphAddHostNode);
}
CUgraphNode Objects::child_node() {
  return node("child node", [this](CUgraphNode *made) {
    return driver_->cuGraphAddChildGraphNode(made, graph(), nullptr, 0, child_graph());
  });
}
CUgraphNode Objects::record_node() {
  return node("record node", [this](CUgraphNode *made) {
    return driver_->cuGraphAddEventRecordNode(made, graph(), nullptr, 0, event());
  });
}
CUgraphNode Objects::wait_node() {
  return node("wait node", [this](CUgraphNode *made) {
    return driver_->cuGraphAddEventWaitNode(made, graph(), nullptr, 0, event());
  });
}
CUgraphNode Objects::batch_node() {
  return node_with("batch node", batch_parameters, &cushim::Driver::cuGraphAddBatchMemOpNode);
}
CUgraphNode Objects::allocation_node() {
  return node("allocation node", [this](CUgraphNode *made) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = allocation_parameters();
    return driver_->cuGraphAddMemAllocNode(made, graph(), nullptr, 0, &parameters);
  });
}
Address Objects::allocation_of_node() {
  return {once<CUdeviceptr>(
      "allocation of the node",
      [this](CUdeviceptr *made) {
        CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
        const CUresult result = driver_->cuGraphMemAllocNodeGetParams(allocation_node(), &parameters);
        *made = parameters.dptr;
        return result;
      },
      [](CUdeviceptr) {})};
}
CUgraphConditionalHandle Objects::conditional() {
  return once<CUgraphConditionalHandle>(
      "conditional handle",
      [this](CUgraphConditionalHandle *made) {
        return driver_->cuGraphConditionalHandleCreate(made, graph(), context(), 0, 0);
      },
      [](CUgraphConditionalHandle) {});
}
CUgraphExec Objects::executable(CUgraphNode) {
  return once<CUgraphExec>("executable graph", [this](CUgraphExec *made) {
    return driver_->cuGraphInstantiate(made, graph(), 0);
  });
}
CUuserObject Objects::user_object() {
  constexpr unsigned kReferences = 4;
  return once<CUuserObject>(
      "user object",
      [this](CUuserObject *made) {
        return driver_->cuUserObjectCreate(made, nullptr, do_nothing, kReferences,
                                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
      },
      // A call may have released references. The rest of them is not released.
      [](CUuserObject) {});
}

}  // namespace arguments
