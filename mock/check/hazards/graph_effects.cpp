// SPDX-License-Identifier: Apache-2.0
#include "hazards/graph_effects.hpp"

#include "hazards/graphs.hpp"

namespace cushim::check {
namespace {

// The node that the call changes; null if it is not known.
GraphWork::Node *changed(CallView &call) {
  return call.graphs.change(call.handle<CUgraphExec>(0), call.handle<CUgraphNode>(1));
}

}  // namespace

void add_node(CallView &call) {
  if (!call.model.reports()) return;
  const Access made = call.access();
  call.graphs.sites.add(call.handle<CUgraph>(1), reinterpret_cast<CUgraphNode>(call.written(0)),
                        {static_cast<int>(made.entry), made.call_stack});
}

void add_any_node(CallView &call) {
  add_node(call);
#if CUDA_VERSION >= 12030
  // The second ABI has data of the edges before the number of dependencies.
  const auto &parameters = *call.pointed<CUgraphNodeParams>(call.version() >= 12030 ? 5 : 4);
  if (parameters.type != CU_GRAPH_NODE_TYPE_CONDITIONAL || !call.model.reports()) return;
  const CUgraph *const bodies = parameters.conditional.phGraph_out;
  call.graphs.sites.add_bodies(reinterpret_cast<CUgraphNode>(call.written(0)),
                               {bodies, bodies + parameters.conditional.size});
#endif
}

void destroy_graph(CallView &call, VectorClock &) { call.graphs.sites.forget(call.handle<CUgraph>(0)); }

void instantiate_graph(CallView &call) {
  call.graphs.instantiated(call, reinterpret_cast<CUgraphExec>(call.written(0)), call.handle<CUgraph>(1));
}

void destroy_executable(CallView &call, VectorClock &) { call.graphs.destroyed(call.handle<CUgraphExec>(0)); }

void update_executable(CallView &call) {
  call.graphs.instantiated(call, call.handle<CUgraphExec>(0), call.handle<CUgraph>(1));
}

void launch_graph(CallView &call) {
  call.graphs.launched(call, call.handle<CUgraphExec>(0), call.last_stream());
}

void set_kernel_node(CallView &call) {
  GraphWork::Node *const node = changed(call);
  if (node == nullptr) return;
  // The second ABI appends members to the structure of the first.
  const auto &first = *call.pointed<CUDA_KERNEL_NODE_PARAMS_v1>(2);
#if CUDA_VERSION >= 12000
  if (first.func == nullptr && call.version() >= 12000)
    return static_cast<void>(node->kernel =
                                 call.kernels.ask_node(*call.pointed<CUDA_KERNEL_NODE_PARAMS_v2>(2)));
#endif
  node->kernel = call.kernels.ask(first.func, first.kernelParams, first.extra);
}

void set_copy_node(CallView &call) {
  if (GraphWork::Node *const node = changed(call)) node->uses = uses_of(*call.pointed<CUDA_MEMCPY3D>(2));
}

void set_memset_node(CallView &call) {
  if (GraphWork::Node *const node = changed(call))
    node->uses = uses_of(*call.pointed<CUDA_MEMSET_NODE_PARAMS>(2));
}

void set_record_node(CallView &call) {
  if (GraphWork::Node *const node = changed(call)) node->recorded = call.handle<CUevent>(2);
}

void set_wait_node(CallView &call) {
  if (GraphWork::Node *const node = changed(call)) node->awaited = call.handle<CUevent>(2);
}

void set_any_node([[maybe_unused]] CallView &call) {
#if CUDA_VERSION >= 12020
  GraphWork::Node *const node = changed(call);
  if (node == nullptr) return;
  const CUgraphNodeParams &parameters = *call.pointed<CUgraphNodeParams>(2);
  switch (parameters.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      node->kernel = call.kernels.ask_node(parameters.kernel);
      return;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      node->uses = uses_of(parameters.memcpy.copyParams);
      return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      node->uses = uses_of(CUDA_MEMSET_NODE_PARAMS{parameters.memset.dst, parameters.memset.pitch,
                                                   parameters.memset.value, parameters.memset.elementSize,
                                                   parameters.memset.width, parameters.memset.height});
      return;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      node->recorded = parameters.eventRecord.event;
      return;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      node->awaited = parameters.eventWait.event;
      return;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return set_child_graph(call);
    default:
      return;
  }
#endif
}

void enable_node(CallView &call) {
  if (GraphWork::Node *const node = changed(call)) node->is_enabled = (call.argument(2) & 0xffffffff) != 0;
}

void set_child_graph(CallView &call) { call.graphs.destroyed(call.handle<CUgraphExec>(0)); }

}  // namespace cushim::check
