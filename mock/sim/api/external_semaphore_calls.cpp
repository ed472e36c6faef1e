// SPDX-License-Identifier: Apache-2.0
// Semaphores of other interfaces. None can be imported, because no graphics interface is simulated: lists of
// them are empty. Measured on an H200, driver 580, except where noted.
#include "api/graph_objects.hpp"

namespace cushim::sim {
namespace {

void refuse(Call &call, CUexternalSemaphore semaphore) {
  call.report_misuse(semaphore, Kind::external_semaphore);
  fail(CUDA_ERROR_INVALID_VALUE);
}

CUresult import(Call &call, CUexternalSemaphore *out,
                const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *description) {
  require(out != nullptr && description != nullptr);
  call.context();
  require(description->flags == 0);
  switch (static_cast<int>(description->type)) {
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD:
      return CUDA_ERROR_UNKNOWN;
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD:
      return description->handle.fd < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_UNKNOWN;
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult destroy(Call &call, CUexternalSemaphore semaphore) {
  refuse(call, semaphore);
  return CUDA_SUCCESS;
}

// Implements cuSignalExternalSemaphoresAsync and cuWaitExternalSemaphoresAsync. The real driver crashes when
// it signals a null semaphore.
template <class Parameters>
CUresult submit(Call &call, const CUexternalSemaphore *semaphores, const Parameters *parameters,
                unsigned count, CUstream stream) {
  require(semaphores != nullptr && parameters != nullptr && count != 0);
  call.stream(stream);
  refuse(call, semaphores[0]);
  return CUDA_SUCCESS;
}

// ---- Nodes of graphs ----

template <class OneCommand, class Parameters>
CUresult add_node(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after, std::size_t count,
                  const Parameters *parameters) {
  Graph &graph = graph_of(call, handle);
  require(parameters != nullptr);
  if (parameters->numExtSems != 0) require_no_semaphores(call, parameters->extSemArray);
  return add_with_dependencies(call, out, graph, after, count, nullptr, {OneCommand{}});
}

template <class OneCommand, class Parameters>
CUresult get_parameters(Call &call, CUgraphNode node, Parameters *out) {
  require(out != nullptr);
  command_of<OneCommand>(node_of(call, node));
  *out = {};
  return CUDA_SUCCESS;
}

template <class OneCommand, class Parameters>
CUresult set_parameters(Call &call, CUgraphNode node, const Parameters *parameters) {
  command_of<OneCommand>(node_of(call, node));
  require(parameters != nullptr);
  if (parameters->numExtSems != 0) require_no_semaphores(call, parameters->extSemArray);
  return CUDA_SUCCESS;
}

template <class OneCommand, class Parameters>
CUresult set_executable_parameters(Call &call, CUgraphExec executable, CUgraphNode node,
                                   const Parameters *parameters) {
  require(executable_of(call, executable).find(node_of(call, node)) != nullptr);
  return set_parameters<OneCommand>(call, node, parameters);
}

}  // namespace

void require_no_semaphores(Call &call, const CUexternalSemaphore *semaphores) {
  require(semaphores != nullptr);
  refuse(call, semaphores[0]);
}

void serve_external_semaphores(Service &service) {
  using SignalNode = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1;
  using WaitNode = CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1;
  service.serve<"cuImportExternalSemaphore", import>();
  service.serve<"cuDestroyExternalSemaphore", destroy>();
  service.serve<"cuSignalExternalSemaphoresAsync", submit<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>>();
  service.serve<"cuWaitExternalSemaphoresAsync", submit<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>>();
  service.serve<"cuGraphAddExternalSemaphoresSignalNode", add_node<ExternalSignal, SignalNode>>();
  service.serve<"cuGraphAddExternalSemaphoresWaitNode", add_node<ExternalWait, WaitNode>>();
  service.serve<"cuGraphExternalSemaphoresSignalNodeGetParams", get_parameters<ExternalSignal, SignalNode>>();
  service.serve<"cuGraphExternalSemaphoresSignalNodeSetParams", set_parameters<ExternalSignal, SignalNode>>();
  service.serve<"cuGraphExternalSemaphoresWaitNodeGetParams", get_parameters<ExternalWait, WaitNode>>();
  service.serve<"cuGraphExternalSemaphoresWaitNodeSetParams", set_parameters<ExternalWait, WaitNode>>();
  service.serve<"cuGraphExecExternalSemaphoresSignalNodeSetParams",
                set_executable_parameters<ExternalSignal, SignalNode>>();
  service.serve<"cuGraphExecExternalSemaphoresWaitNodeSetParams",
                set_executable_parameters<ExternalWait, WaitNode>>();
}

}  // namespace cushim::sim
