// SPDX-License-Identifier: Apache-2.0
// The behaviour of the recording driver for graphs, executable graphs, captures and user objects.
#include "recording_driver.hpp"

namespace cushim::test {
namespace {

std::string words(const char *what, const void *handle) {
  return std::string(what) + " " + detail::hexadecimal(reinterpret_cast<std::uintptr_t>(handle));
}

}  // namespace

// Destroys a user object.
CUresult Recording::end(CUuserObject object) {
  const auto found = user_objects_.find(object);
  if (found == user_objects_.end()) return give_back(words("user object", object));
  const auto destroy = std::move(found->second.destroy);
  user_objects_.erase(found);
  destroy();
  return give_back(words("user object", object));
}

void Recording::behave_graphs() {
  on<Entry::cuGraphCreate_v10000>([this](CUgraph *graph, unsigned) {
    *graph = acquire<CUgraph>("graph");
    return CUDA_SUCCESS;
  });
  on<Entry::cuGraphClone_v10000>([this](CUgraph *clone, CUgraph) {
    *clone = acquire<CUgraph>("graph");
    return CUDA_SUCCESS;
  });
#if CUDA_VERSION >= 12030
  const auto begin_into_graph = [this](auto...) {
    is_captured_into_graph_ = true;
    return CUDA_SUCCESS;
  };
  on<Entry::cuStreamBeginCaptureToGraph_v12030>(begin_into_graph);
  on<Entry::cuStreamBeginCaptureToGraph_v12030_ptsz>(begin_into_graph);
#endif
  const auto end_capture = [this](CUstream, CUgraph *graph) {
    if (std::exchange(is_captured_into_graph_, false)) return CUDA_SUCCESS;
    *graph = acquire<CUgraph>("graph");
    return CUDA_SUCCESS;
  };
  on<Entry::cuStreamEndCapture_v10000>(end_capture);
  on<Entry::cuStreamEndCapture_v10000_ptsz>(end_capture);
  on<Entry::cuGraphDestroy_v10000>([this](CUgraph graph) {
    std::vector<CUuserObject> owned;
    for (const auto &[object, state] : user_objects_)
      if (state.graph == graph) owned.push_back(object);
    for (CUuserObject object : owned) end(object);
    return give_back(words("graph", graph));
  });
  on<Entry::cuGraphInstantiateWithFlags_v11040>([this](CUgraphExec *exec, CUgraph, unsigned long long) {
    *exec = acquire<CUgraphExec>("executable graph");
    return CUDA_SUCCESS;
  });
  on<Entry::cuGraphExecDestroy_v10000>(
      [this](CUgraphExec exec) { return give_back(words("executable graph", exec)); });

  on<Entry::cuUserObjectCreate_v11030>(
      [this](CUuserObject *object, void *data, CUhostFn destroy, unsigned, unsigned) {
        *object = acquire<CUuserObject>("user object");
        user_objects_[*object] = {[=] { destroy(data); }, nullptr};
        return CUDA_SUCCESS;
      });
  on<Entry::cuUserObjectRelease_v11030>([this](CUuserObject object, unsigned) { return end(object); });
  on<Entry::cuGraphRetainUserObject_v11030>([this](CUgraph graph, CUuserObject object, unsigned, unsigned) {
    if (const auto found = user_objects_.find(object); found != user_objects_.end())
      found->second.graph = graph;
    return CUDA_SUCCESS;
  });
  on<Entry::cuGraphReleaseUserObject_v11030>(
      [this](CUgraph, CUuserObject object, unsigned) { return end(object); });

  // Nodes belong to their graphs.
  const auto add = [this](CUgraphNode *node, auto...) {
    *node = reinterpret_cast<CUgraphNode>(next_node_ += 0x10);
    return CUDA_SUCCESS;
  };
  on<Entry::cuGraphAddKernelNode_v10000>(add);
#if CUDA_VERSION >= 12000
  on<Entry::cuGraphAddKernelNode_v12000>(add);
#endif
#if CUDA_VERSION >= 12030
  on<Entry::cuGraphAddNode_v12030>([add](CUgraphNode *node, CUgraph, const CUgraphNode *,
                                         const CUgraphEdgeData *, std::size_t,
                                         CUgraphNodeParams *parameters) {
    // The bodies of a conditional node belong to it.
    static CUgraph bodies[] = {reinterpret_cast<CUgraph>(0xb0d1), reinterpret_cast<CUgraph>(0xb0d2),
                               reinterpret_cast<CUgraph>(0xb0d3)};
    if (parameters->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) parameters->conditional.phGraph_out = bodies;
    return add(node);
  });
#endif
  on_each<Entry::cuGraphAddMemcpyNode_v10000, Entry::cuGraphAddMemsetNode_v10000,
          Entry::cuGraphAddHostNode_v10000, Entry::cuGraphAddChildGraphNode_v10000,
          Entry::cuGraphAddEmptyNode_v10000, Entry::cuGraphAddEventRecordNode_v11010,
          Entry::cuGraphAddEventWaitNode_v11010, Entry::cuGraphAddMemFreeNode_v11040>(add);
  on<Entry::cuGraphAddMemAllocNode_v11040>([add](CUgraphNode *node, CUgraph, const CUgraphNode *, std::size_t,
                                                 CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
    parameters->dptr = 0x700000;
    return add(node);
  });
  on<Entry::cuGraphNodeFindInClone_v10000>([](CUgraphNode *found, CUgraphNode original, CUgraph) {
    *found = original;
    return CUDA_SUCCESS;
  });
  on<Entry::cuGraphChildGraphNodeGetGraph_v10000>([](CUgraphNode, CUgraph *graph) {
    *graph = reinterpret_cast<CUgraph>(0x9f);
    return CUDA_SUCCESS;
  });
}

}  // namespace cushim::test
