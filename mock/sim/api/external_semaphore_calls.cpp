// SPDX-License-Identifier: Apache-2.0
// Semaphores of other interfaces. No graphics interface is simulated: the semaphores that can be imported are
// those of cushim/sim/external_semaphore.hpp. Measured on an H200, driver 580.159, with semaphores of its
// Vulkan driver, except where noted.
#include <unistd.h>

#include <string>

#include "api/batch.hpp"
#include "api/graph_objects.hpp"
#include "api/reserved.hpp"
#include "commands/submit.hpp"
#include "graphs/capturing.hpp"
#include "objects/external_semaphore.hpp"

namespace cushim::sim {
namespace {

ImportedSemaphore &imported(Call &call, CUexternalSemaphore handle) {
  return call.object<ImportedSemaphore>(handle, CUDA_ERROR_INVALID_VALUE);
}

// Opens the semaphore behind a descriptor, of either type. UNKNOWN for any other file.
std::shared_ptr<SharedSemaphore> open(int descriptor) {
  auto opened = SharedSemaphore::open(descriptor);
  require(opened != nullptr, CUDA_ERROR_UNKNOWN);
  return opened;
}

std::shared_ptr<SharedSemaphore> open(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC &description) {
  switch (static_cast<int>(description.type)) {
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD:
      return open(description.handle.fd);
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD:
      require(description.handle.fd >= 0);
      return open(description.handle.fd);
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32:
      fail(CUDA_ERROR_NOT_SUPPORTED);
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

// Takes over the file descriptor. Another process that made the semaphore waits without driver calls of this
// one, so that the work must run without them.
CUresult import(Call &call, CUexternalSemaphore *out,
                const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *description) {
  const Context &context = call.context();
  require(out != nullptr && description != nullptr);
  require_no_strict_capture(call);
  require(description->flags == 0 && is_zero(description->reserved));
  auto made = std::make_unique<ImportedSemaphore>(open(*description), context.handle);
  if (!made->shared->is_of_this_process()) call.system.engine.work_in_background();
  const ImportedSemaphore &added = call.system.handles.add(std::move(made));
  close(description->handle.fd);
  *out = reinterpret_cast<CUexternalSemaphore>(added.handle);
  return CUDA_SUCCESS;
}

CUresult destroy(Call &call, CUexternalSemaphore handle) {
  call.system.handles.erase(imported(call, handle), call.name);
  return CUDA_SUCCESS;
}

// ---- Work of streams ----

// Holds when a binary semaphore is signaled, which it then resets, or when a timeline semaphore has reached a
// value.
class SemaphoreCondition final : public Condition {
 public:
  SemaphoreCondition(std::shared_ptr<SharedSemaphore> semaphore, std::uint64_t value) noexcept
      : Condition(ChangedBy::anyone), semaphore_(std::move(semaphore)), value_(value) {}

  // A binary semaphore stays taken, so that no other wait sees the same signal.
  bool holds() const override {
    if (is_taken_) return true;
    if (semaphore_->type() == ExternalSemaphore::Type::timeline) return semaphore_->value() >= value_;
    return is_taken_ = semaphore_->take();
  }

  std::string to_text() const override {
    if (semaphore_->type() == ExternalSemaphore::Type::binary) return "an external semaphore to be signaled";
    return "an external semaphore to reach " + std::to_string(value_) + "; it is " +
           std::to_string(semaphore_->value());
  }

 private:
  const std::shared_ptr<SharedSemaphore> semaphore_;
  const std::uint64_t value_;
  mutable bool is_taken_ = false;
};

// Vulkan requires that a signal raises the value. The H200 sets a lower value, too.
void signal(const Engine &engine, SharedSemaphore &semaphore, std::uint64_t value) {
  const std::uint64_t before = semaphore.set(value);
  if (before >= value)
    engine.report("cuSignalExternalSemaphoresAsync: the external semaphore had the value " +
                  std::to_string(before) + " when it was signaled with " + std::to_string(value) +
                  "; Vulkan requires a larger value");
}

// Returns the state of a semaphore that was imported into this context; INVALID_VALUE for any other.
template <class Parameters>
const std::shared_ptr<SharedSemaphore> &semaphore_of(Call &call, const Context &context,
                                                     CUexternalSemaphore handle,
                                                     const Parameters &parameters) {
  const ImportedSemaphore &semaphore = imported(call, handle);
  require(semaphore.context == context.handle && parameters.flags == 0);
  require(is_zero(parameters.reserved) && is_zero(parameters.params.reserved));
  return semaphore.shared;
}

}  // namespace

PreparedCommand prepare(Call &call, Context &context, CUexternalSemaphore handle,
                        const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS &parameters) {
  const auto &semaphore = semaphore_of(call, context, handle, parameters);
  const bool is_binary = semaphore->type() == ExternalSemaphore::Type::binary;
  const std::uint64_t value = is_binary ? 1 : parameters.params.fence.value;
  PreparedCommand prepared;
  prepared.operation.cost = call.costs(context).memory_operation;
  prepared.operation.run = [&engine = call.system.engine, semaphore, value] {
    signal(engine, *semaphore, value);
  };
  return prepared;
}

PreparedCommand prepare(Call &call, Context &context, CUexternalSemaphore handle,
                        const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS &parameters) {
  const auto &semaphore = semaphore_of(call, context, handle, parameters);
  PreparedCommand prepared;
  prepared.operation.cost = call.costs(context).memory_operation;
  prepared.operation.condition =
      std::make_unique<SemaphoreCondition>(semaphore, parameters.params.fence.value);
  return prepared;
}

namespace {

// Implements cuSignalExternalSemaphoresAsync and cuWaitExternalSemaphoresAsync. All semaphores are checked
// before the first operation is added. The real driver crashes when it signals a null semaphore.
template <class Parameters>
CUresult submit_list(Call &call, const CUexternalSemaphore *semaphores, const Parameters *parameters,
                     unsigned count, CUstream handle) {
  Stream &stream = call.stream(handle);
  require(semaphores != nullptr && parameters != nullptr && count != 0);
  SemaphoreList<Parameters> list{{semaphores, semaphores + count}, {parameters, parameters + count}};
  if (stream.capture != nullptr)
    capture_command(call, stream, std::move(list));
  else
    submit(call, stream, prepare(call, *stream.context, list));
  return CUDA_SUCCESS;
}

// ---- Nodes of graphs ----

using SignalNode = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1;
using WaitNode = CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1;

// The semaphores are checked at each launch, not here. The real driver crashes on null arrays.
template <class OneCommand, class Parameters>
NodeParameters node_parameters_of(const Parameters *parameters) {
  require(parameters != nullptr);
  const unsigned count = parameters->numExtSems;
  require(count == 0 || (parameters->extSemArray != nullptr && parameters->paramsArray != nullptr));
  OneCommand command;
  for (unsigned i = 0; i < count; ++i) {
    command.semaphores.push_back(parameters->extSemArray[i]);
    command.parameters.push_back(parameters->paramsArray[i]);
  }
  return {std::move(command)};
}

template <class Parameters>
CUresult add_semaphore_node(Call &call, CUgraphNode *out, CUgraph handle, const CUgraphNode *after,
                            std::size_t count, const Parameters *parameters) {
  Graph &graph = graph_of(call, handle);
  return add_with_dependencies(call, out, graph, after, count, nullptr, parameters_of(call, parameters));
}

template <class OneCommand, class Parameters>
CUresult get_parameters(Call &call, CUgraphNode node, Parameters *out) {
  require(out != nullptr);
  *out = parameters_of(command_of<OneCommand>(node_of(call, node)));
  return CUDA_SUCCESS;
}

template <class OneCommand, class Parameters>
CUresult set_parameters(Call &call, CUgraphNode node, const Parameters *parameters) {
  OneCommand &command = command_of<OneCommand>(node_of(call, node));
  command = std::get<OneCommand>(parameters_of(call, parameters).command);
  return CUDA_SUCCESS;
}

}  // namespace

NodeParameters parameters_of(Call &, const SignalNode *parameters) {
  return node_parameters_of<ExternalSignal>(parameters);
}
NodeParameters parameters_of(Call &, const WaitNode *parameters) {
  return node_parameters_of<ExternalWait>(parameters);
}

SignalNode parameters_of(ExternalSignal &command) {
  return {command.semaphores.data(), command.parameters.data(),
          static_cast<unsigned>(command.semaphores.size())};
}
WaitNode parameters_of(ExternalWait &command) {
  return {command.semaphores.data(), command.parameters.data(),
          static_cast<unsigned>(command.semaphores.size())};
}

constinit const Entries entries_of_external_semaphores = {
    entry<"cuImportExternalSemaphore", import>,
    entry<"cuDestroyExternalSemaphore", destroy>,
    entry<"cuSignalExternalSemaphoresAsync", submit_list<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>>,
    entry<"cuWaitExternalSemaphoresAsync", submit_list<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>>,
    entry<"cuGraphAddExternalSemaphoresSignalNode", add_semaphore_node<SignalNode>>,
    entry<"cuGraphAddExternalSemaphoresWaitNode", add_semaphore_node<WaitNode>>,
    entry<"cuGraphExternalSemaphoresSignalNodeGetParams", get_parameters<ExternalSignal, SignalNode>>,
    entry<"cuGraphExternalSemaphoresSignalNodeSetParams", set_parameters<ExternalSignal, SignalNode>>,
    entry<"cuGraphExternalSemaphoresWaitNodeGetParams", get_parameters<ExternalWait, WaitNode>>,
    entry<"cuGraphExternalSemaphoresWaitNodeSetParams", set_parameters<ExternalWait, WaitNode>>,
};

}  // namespace cushim::sim
