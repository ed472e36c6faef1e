// SPDX-License-Identifier: Apache-2.0
#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {

void OnGraph::TearDown() {
  driver().cuCtxSetCurrent(context);
  for (CUstream stream : captured_)
    if (status(stream) != CU_STREAM_CAPTURE_STATUS_NONE) end_result(stream);
  if (objects.destroyed != nullptr) driver().cuEventDestroy(objects.destroyed);
  if (objects.freed != 0) driver().cuMemFree(objects.freed);
  for (CUgraphExec each : executables_) driver().cuGraphExecDestroy(each);
  if (executable_out != nullptr) driver().cuGraphExecDestroy(executable_out);
  for (CUgraph each : graphs_) driver().cuGraphDestroy(each);
  if (graph_out != nullptr) driver().cuGraphDestroy(graph_out);
  OnModule::TearDown();
}

CUgraph OnGraph::own_graph() {
  CUgraph made = nullptr;
  NEED(driver().cuGraphCreate(&made, 0));
  return made;
}

CUgraph OnGraph::graph() {
  graphs_.push_back(own_graph());
  return graphs_.back();
}

CUgraphNode OnGraph::empty(CUgraph graph, const Nodes &after) {
  CUgraphNode made = nullptr;
  NEED(driver().cuGraphAddEmptyNode(&made, graph, after.data(), after.size()));
  return made;
}

CUDA_KERNEL_NODE_PARAMS OnGraph::one_thread(CUfunction function) {
  CUDA_KERNEL_NODE_PARAMS made{};
  made.func = function;
  made.gridDimX = made.gridDimY = made.gridDimZ = 1;
  made.blockDimX = made.blockDimY = made.blockDimZ = 1;
  return made;
}

CUDA_MEMSET_NODE_PARAMS OnGraph::set_parameters(CUdeviceptr to, unsigned value, std::size_t count) {
  CUDA_MEMSET_NODE_PARAMS parameters{};
  parameters.dst = to;
  parameters.value = value;
  parameters.elementSize = 1;
  parameters.width = count;
  parameters.height = 1;
  return parameters;
}

CUDA_MEMCPY3D OnGraph::copy_parameters(CUdeviceptr to, const void *from, std::size_t size) {
  return cushim::test::copy_of_box(to, from, size);
}

CUDA_HOST_NODE_PARAMS OnGraph::host_parameters(int *count) {
  CUDA_HOST_NODE_PARAMS parameters{};
  parameters.fn = [](void *data) { ++*static_cast<int *>(data); };
  parameters.userData = count;
  return parameters;
}

CUgraphNode OnGraph::set(CUgraph graph, CUdeviceptr to, unsigned value, std::size_t count,
                         const Nodes &after) {
  const CUDA_MEMSET_NODE_PARAMS parameters = set_parameters(to, value, count);
  CUgraphNode made = nullptr;
  NEED(driver().cuGraphAddMemsetNode(&made, graph, after.data(), after.size(), &parameters, context));
  return made;
}

CUgraphNode OnGraph::copy_in(CUgraph graph, CUdeviceptr to, const void *from, std::size_t size,
                             const Nodes &after) {
  const CUDA_MEMCPY3D parameters = copy_parameters(to, from, size);
  CUgraphNode made = nullptr;
  NEED(driver().cuGraphAddMemcpyNode(&made, graph, after.data(), after.size(), &parameters, context));
  return made;
}

CUgraphNode OnGraph::copy_out(CUgraph graph, void *to, CUdeviceptr from, std::size_t size,
                              const Nodes &after) {
  const CUDA_MEMCPY3D parameters = cushim::test::copy_of_box(to, from, size);
  CUgraphNode made = nullptr;
  NEED(driver().cuGraphAddMemcpyNode(&made, graph, after.data(), after.size(), &parameters, context));
  return made;
}

CUgraphNode OnGraph::calling(CUgraph graph, int *count, const Nodes &after) {
  const CUDA_HOST_NODE_PARAMS parameters = host_parameters(count);
  CUgraphNode made = nullptr;
  NEED(driver().cuGraphAddHostNode(&made, graph, after.data(), after.size(), &parameters));
  return made;
}

CUgraphNode OnGraph::write(CUgraph graph, CUdeviceptr to, unsigned value, const Nodes &after) {
  void *arguments[] = {&to, &value};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = kernel("write");
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments;
  CUgraphNode made = nullptr;
  NEED(driver().cuGraphAddKernelNode(&made, graph, after.data(), after.size(), &parameters));
  return made;
}

CUgraphExec OnGraph::executable(CUgraph graph, unsigned long long flags) {
  CUgraphExec made = nullptr;
  NEED(driver().cuGraphInstantiate(&made, graph, flags));
  if (made != nullptr) executables_.push_back(made);
  return made;
}

CUresult OnGraph::run(CUgraphExec executable) {
  const CUstream work = stream();
  const CUresult code = driver().cuGraphLaunch(executable, work);
  return code != CUDA_SUCCESS ? code : driver().cuStreamSynchronize(work);
}

void OnGraph::begin(CUstream stream, CUstreamCaptureMode mode) {
  NEED(driver().cuStreamBeginCapture(stream, mode));
  captured_.push_back(stream);
}

CUstream OnGraph::capturing(CUstreamCaptureMode mode, unsigned flags) {
  const CUstream made = stream(flags);
  begin(made, mode);
  return made;
}

CUgraph OnGraph::end(CUstream stream) {
  CUgraph made = nullptr;
  NEED(driver().cuStreamEndCapture(stream, &made));
  if (made != nullptr) graphs_.push_back(made);
  return made;
}

CUresult OnGraph::end_result(CUstream stream) {
  CUgraph made = nullptr;
  const CUresult code = driver().cuStreamEndCapture(stream, &made);
  if (made != nullptr) driver().cuGraphDestroy(made);
  return code;
}

void OnGraph::make_objects() {
  objects.memory = memory();
  objects.managed = managed();
  objects.pinned = pinned();
  objects.event = event();
  objects.recorded = event();
  objects.other = stream();
  NEED(driver().cuEventRecord(objects.recorded, objects.other));
  NEED(driver().cuStreamSynchronize(objects.other));
  NEED(driver().cuEventCreate(&objects.destroyed, CU_EVENT_DISABLE_TIMING));
  NEED(driver().cuMemAlloc(&objects.freed, 1024));
  objects.graph = graph();
  empty(objects.graph);
  objects.executable = executable(objects.graph);
}

int OnGraph::status(CUstream stream) {
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
  driver().cuStreamIsCapturing(stream, &found);
  return found;
}

std::size_t node_count(CUgraph graph) {
  std::size_t count = 0;
  NEED(driver().cuGraphGetNodes(graph, nullptr, &count));
  return count;
}

std::size_t edge_count(CUgraph graph) {
  std::size_t count = 0;
  NEED(driver().cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  return count;
}

int type_of(CUgraphNode node) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  NEED(driver().cuGraphNodeGetType(node, &type));
  return type;
}

Nodes nodes_of(CUgraph graph) {
  std::size_t count = node_count(graph);
  Nodes nodes(count);
  NEED(driver().cuGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}

Nodes dependencies_of(CUgraphNode node) {
  std::size_t count = 0;
  NEED(driver().cuGraphNodeGetDependencies(node, nullptr, nullptr, &count));
  Nodes nodes(count);
  if (count != 0) NEED(driver().cuGraphNodeGetDependencies(node, nodes.data(), nullptr, &count));
  return nodes;
}

}  // namespace conformance

#endif
