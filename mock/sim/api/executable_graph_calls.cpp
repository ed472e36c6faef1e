// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launches, updates.
#include "api/graph_objects.hpp"

namespace cushim::sim {
namespace {

constexpr unsigned long long kUpload = 2;  // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
constexpr unsigned long long kDeviceLaunch = 4;
constexpr unsigned long long kFlags = 15;  // all that CUDA 13 defines
constexpr int kInvalidStructure = 2;       // CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE

// Returns null, and sets `refusal`, if the graph has a cycle or breaks a rule of conditional nodes.
ExecutableGraph *make(Call &call, Graph &graph, unsigned long long flags, Refusal &refusal) {
  require((flags & ~kFlags) == 0);
  require((flags & kDeviceLaunch) == 0, CUDA_ERROR_NOT_SUPPORTED);  // not implemented
  call.context();
  refusal = refusal_of(call, graph);
  if (refusal.code != CUDA_SUCCESS) return nullptr;
  auto flat = flatten(graph);
  if (!flat) return refusal = {CUDA_ERROR_INVALID_VALUE, kInvalidStructure}, nullptr;
  auto made = std::make_unique<ExecutableGraph>();
  made->id = ++call.system.last_graph_id;
  made->flags = flags;
  set_graph(*made, std::move(*flat));
  hold_user_objects(*made, graph);
  return &call.system.handles.add(std::move(made));
}

CUgraphExec handle_of(const ExecutableGraph &graph) { return reinterpret_cast<CUgraphExec>(graph.handle); }

CUresult instantiate(Call &call, CUgraphExec *out, CUgraph graph, unsigned long long flags,
                     Refusal &refusal) {
  require(out != nullptr);
  // Only cuGraphInstantiateWithParams has a stream for the upload.
  require((flags & kUpload) == 0);
  ExecutableGraph *const made = make(call, graph_of(call, graph), flags, refusal);
  if (made != nullptr) *out = handle_of(*made);
  return refusal.code;
}

CUresult instantiate_with_flags(Call &call, CUgraphExec *out, CUgraph graph, unsigned long long flags) {
  Refusal refusal;
  return instantiate(call, out, graph, flags, refusal);
}

CUresult instantiate_with_log(Call &call, CUgraphExec *out, CUgraph graph, CUgraphNode *error, char *log,
                              std::size_t size) {
  if (error != nullptr) *error = nullptr;
  if (log != nullptr && size != 0) *log = '\0';
  Refusal refusal;
  const CUresult code = instantiate(call, out, graph, 0, refusal);
  if (error != nullptr) *error = refusal.node;
  return code;
}

#if CUDA_VERSION >= 12000
CUresult instantiate_with_parameters(Call &call, CUgraphExec *out, CUgraph handle,
                                     CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  require(out != nullptr && parameters != nullptr);
  parameters->hErrNode_out = nullptr;
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  Graph &graph = graph_of(call, handle);
  Stream *const upload =
      (parameters->flags & kUpload) != 0 ? &call.stream(parameters->hUploadStream) : nullptr;
  Refusal refusal;
  ExecutableGraph *const made = make(call, graph, parameters->flags, refusal);
  parameters->result_out = static_cast<CUgraphInstantiateResult>(refusal.result);
  parameters->hErrNode_out = refusal.node;
  require(made != nullptr, refusal.code);
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  *out = handle_of(*made);
  if (upload != nullptr) call.enqueue(*upload, {});
  return CUDA_SUCCESS;
}

CUresult get_flags(Call &call, CUgraphExec handle, cuuint64_t *flags) {
  require(flags != nullptr);
  *flags = executable_of(call, handle).flags;
  return CUDA_SUCCESS;
}
#endif

CUresult get_id(Call &call, CUgraphExec handle, unsigned *id) {
  require(id != nullptr);
  *id = static_cast<unsigned>(executable_of(call, handle).id);
  return CUDA_SUCCESS;
}

// Launches in progress continue.
CUresult destroy(Call &call, CUgraphExec handle) {
  ExecutableGraph &graph = executable_of(call, handle);
  release_user_objects(call, graph);
  leave_graph(graph);
  const Work last = graph.last;
  call.system.handles.erase(graph, call.name);
  call_destructors(call, last);
  return CUDA_SUCCESS;
}

CUresult launch_in_stream(Call &call, CUgraphExec handle, CUstream into) {
  ExecutableGraph &graph = executable_of(call, handle);
  Stream &stream = call.stream(into);
  launch(call, graph, stream);
  return CUDA_SUCCESS;
}

CUresult upload(Call &call, CUgraphExec handle, CUstream into) {
  executable_of(call, handle);
  call.enqueue(call.stream(into), {});
  return CUDA_SUCCESS;
}

// ---- Updates by a graph of the same structure ----

struct UpdateResult {
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  CUgraphNode node = nullptr;
};

CUresult update(Call &call, CUgraphExec handle, CUgraph by, UpdateResult &out) {
  ExecutableGraph &executable = executable_of(call, handle);
  Graph &graph = graph_of(call, by);
  auto wanted = flatten(graph);
  out.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  require(wanted.has_value(), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  const Difference difference = compare(executable.graph, *wanted);
  out.result = difference.result;
  if (difference.result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    if (!set_commands(executable, std::move(*wanted))) {
      out.result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    // CUDA Programming Guide, CUDA User Objects.
    replace_user_objects(call, executable, graph);
    return CUDA_SUCCESS;
  }
  graph.for_each_node([&](const GraphNode &node) {
    if (node.id == difference.node) out.node = sim::handle_of(node);
  });
  return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult update_with_node(Call &call, CUgraphExec handle, CUgraph graph, CUgraphNode *node,
                          CUgraphExecUpdateResult *result) {
  UpdateResult found;
  const CUresult code = update(call, handle, graph, found);
  if (result != nullptr) *result = found.result;
  if (node != nullptr) *node = found.node;
  return code;
}

#if CUDA_VERSION >= 12000
CUresult update_with_info(Call &call, CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
  UpdateResult found;
  const CUresult code = update(call, handle, graph, found);
  if (info != nullptr) *info = {found.result, found.node, nullptr};
  return code;
}
#endif

}  // namespace

void serve_executable_graphs(Service &service) {
  service.serve<"cuGraphInstantiateWithFlags", instantiate_with_flags>();
  service.serve<"cuGraphInstantiate", instantiate_with_log>();
  service.serve<"cuGraphExecDestroy", destroy>();
  service.serve<"cuGraphLaunch", launch_in_stream>();
  service.serve<"cuGraphUpload", upload>();
  service.serve<"cuGraphExecGetId", get_id>();
  service.serve<"cuGraphExecUpdate", update_with_node>();
#if CUDA_VERSION >= 12000
  service.serve<"cuGraphInstantiateWithParams", instantiate_with_parameters>();
  service.serve<"cuGraphExecGetFlags", get_flags>();
  service.serve<"cuGraphExecUpdate", update_with_info>();
#endif
}

}  // namespace cushim::sim
