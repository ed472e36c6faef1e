// SPDX-License-Identifier: Apache-2.0
// Checks of the parameters of graph nodes. What the work itself requires is checked in the file of its calls.
#include <cstring>
#include <span>

#include "api/graph_objects.hpp"
#include "api/reserved.hpp"
#include "commands/submit.hpp"
#include "memory/location.hpp"

namespace cushim::sim {

namespace {

// Returns the context of a handle; for null, the current one, or without one that of the memory. Measured on
// an H200, driver 580.
Context &context_of(Call &call, CUcontext handle, CUdeviceptr memory) {
  if (handle != nullptr) return call.context(handle);
  const Allocation *const found = call.current() == nullptr ? call.system.memory.find(memory) : nullptr;
  return found != nullptr && found->context != nullptr ? *found->context : call.context();
}

// Validates a command in a context.
NodeParameters validated(Call &call, Command command, Context &context) {
  require_no_fault(context);
  validate(call, context, command);
  return {std::move(command), reinterpret_cast<CUcontext>(context.handle)};
}

template <class Parameters>
NodeParameters launch_of(Call &call, Function &function, const Parameters &with) {
  const ptx::LaunchShape shape{{with.gridDimX, with.gridDimY, with.gridDimZ},
                               {with.blockDimX, with.blockDimY, with.blockDimZ},
                               {},
                               with.sharedMemBytes};
  // A node of a kernel without parameters does not read `extra`: measured on an H200, driver 580.
  void **const extra = function.entry->parameters.empty() ? nullptr : with.extra;
  return {describe_launch(call, function, {shape}, with.kernelParams, extra),
          reinterpret_cast<CUcontext>(function.module->context->handle)};
}

}  // namespace

NodeParameters parameters_of(Call &call, const CUDA_MEMCPY3D *parameters, CUcontext context) {
  require(parameters != nullptr);
  require(parameters->WidthInBytes != 0 && parameters->Height != 0 && parameters->Depth != 0);
  return validated(call, Memcpy(*parameters), context_of(call, context, parameters->dstDevice));
}

NodeParameters parameters_of(Call &call, const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context) {
  require(parameters != nullptr);
  const unsigned element = parameters->elementSize;
  require(element == 1 || element == 2 || element == 4);
  require(parameters->width != 0 && parameters->height != 0);
  return validated(call, Memset{*parameters}, context_of(call, context, parameters->dst));
}

NodeParameters parameters_of(Call &, const CUDA_HOST_NODE_PARAMS *parameters) {
  require(parameters != nullptr && parameters->fn != nullptr);
  return {HostFunction{parameters->fn, parameters->userData}};
}

NodeParameters parameters_of(Call &call, const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  require(parameters != nullptr);
  return launch_of(call, call.function_or_kernel(parameters->func), *parameters);
}

#if CUDA_VERSION >= 12000
NodeParameters parameters_of(Call &call, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  require(parameters != nullptr);
  if (parameters->func != nullptr || parameters->kern == nullptr)
    return launch_of(call, call.function_or_kernel(parameters->func), *parameters);
  Context &context = parameters->ctx != nullptr ? call.context(parameters->ctx) : call.context();
  require_no_fault(context);
  return launch_of(call, call.function_of_kernel(call.kernel(parameters->kern), context), *parameters);
}
#endif

NodeParameters parameters_of(Call &call, const CUDA_BATCH_MEM_OP_NODE_PARAMS *parameters) {
  require(parameters != nullptr);
  require(parameters->count <= kMostInBatch && (parameters->count == 0 || parameters->paramArray != nullptr));
  require(parameters->flags == 0 && parameters->ctx != nullptr);
  return validated(call, BatchMemOp{{parameters->paramArray, parameters->paramArray + parameters->count}},
                   call.context(parameters->ctx));
}

NodeParameters parameters_of_record(Call &call, CUevent event) {
  require(event != nullptr);
  require(!call.event_despite_fault(event).is_interprocess(), CUDA_ERROR_NOT_SUPPORTED);  // not implemented
  return {EventRecord{event}};
}

NodeParameters parameters_of_wait(Call &call, CUevent event) {
  require(event != nullptr);
  require(!call.event_despite_fault(event).is_interprocess(), CUDA_ERROR_NOT_SUPPORTED);  // not implemented
  return {EventWait{event}};
}

// Peers have access by cuCtxEnablePeerAccess; the descriptions of access have no effect.
std::shared_ptr<GraphMemory> memory_of(Call &call, const CUDA_MEM_ALLOC_NODE_PARAMS &parameters) {
  const CUmemPoolProps &properties = parameters.poolProps;
  // The errors and their order: measured, driver 580.
  const bool is_managed = static_cast<int>(properties.allocType) == kManagedAllocation;
  require(is_managed || properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
  const unsigned handle_types = static_cast<unsigned>(properties.handleTypes);
  constexpr unsigned known = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | kFabricHandle;
  require((handle_types & ~known) == 0);
  require(is_zero(properties.reserved));
  const bool is_shared = handle_types != CU_MEM_HANDLE_TYPE_NONE;
  const int place = properties.location.type;
  require(is_managed ? !is_shared
                     : place == CU_MEM_LOCATION_TYPE_DEVICE || place == kHostNodeLocation ||
                           (place == kHostLocation && !is_shared));
  require(place == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
  Device &device = call.device(properties.location.id, CUDA_ERROR_INVALID_VALUE);
  require(parameters.accessDescs != nullptr || parameters.accessDescCount == 0);
  for (std::size_t i = 0; i < parameters.accessDescCount; ++i) {
    const CUmemAccessDesc &access = parameters.accessDescs[i];
    call.device(access.location.id, CUDA_ERROR_INVALID_DEVICE);
    require(access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CUDA_ERROR_NOT_SUPPORTED);
  }
  require(!is_shared, CUDA_ERROR_NOT_SUPPORTED);
  require(parameters.bytesize != 0);
  std::shared_ptr<GraphMemory> memory = make_graph_memory(call, device, parameters.bytesize);
  require(memory != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  memory->is_managed = is_managed;
  memory->access.assign(parameters.accessDescs, parameters.accessDescs + parameters.accessDescCount);
  return memory;
}

std::shared_ptr<GraphMemory> graph_memory_at(Call &call, CUdeviceptr address) {
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->base == address && allocation->graph_memory != nullptr);
  return allocation->graph_memory->shared_from_this();
}

CUDA_MEM_ALLOC_NODE_PARAMS parameters_of(const MemoryAllocation &command) {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps.allocType = command.memory->is_managed
                                       ? static_cast<CUmemAllocationType>(kManagedAllocation)
                                       : CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  parameters.poolProps.location.id = command.memory->device->ordinal;
  parameters.accessDescs = command.memory->access.empty() ? nullptr : command.memory->access.data();
  parameters.accessDescCount = command.memory->access.size();
  parameters.bytesize = command.memory->size;
  parameters.dptr = command.memory->address;
  return parameters;
}

#if CUDA_VERSION >= 12020
namespace {

// Returns the size of the member of the union that a type of node has; 0 for a type without one.
std::size_t size_of_member(const CUgraphNodeParams &parameters) {
  switch (parameters.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return sizeof parameters.kernel;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return sizeof parameters.memcpy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return sizeof parameters.memset;
    case CU_GRAPH_NODE_TYPE_HOST:
      return sizeof parameters.host;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return sizeof parameters.graph;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return sizeof parameters.eventWait;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return sizeof parameters.eventRecord;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      return sizeof parameters.extSemSignal;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return sizeof parameters.extSemWait;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return sizeof parameters.alloc;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return sizeof parameters.free;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return sizeof parameters.memOp;
#if CUDA_VERSION >= 12030
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return sizeof parameters.conditional;
#endif
    default:
      return 0;
  }
}

}  // namespace

// Unused bytes must be 0: cuda.h. Measured on an H200, driver 580, for host and kernel nodes.
void require_zero_unused(const CUgraphNodeParams &parameters) {
  require(is_zero(parameters.reserved0));
  const auto *const begin = reinterpret_cast<const unsigned char *>(&parameters.reserved1);
  const auto *const end = reinterpret_cast<const unsigned char *>(&parameters + 1);
  require(is_zero(std::span(begin + size_of_member(parameters), end)));
}

NodeParameters parameters_of(Call &call, const CUgraphNodeParams *parameters) {
  require(parameters != nullptr);
  require_zero_unused(*parameters);
  switch (parameters->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v2 with{};
      static_assert(sizeof with == sizeof parameters->kernel);
      std::memcpy(&with, &parameters->kernel, sizeof with);
      return parameters_of(call, &with);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      require(parameters->memcpy.flags == 0 && parameters->memcpy.reserved == 0);
      return parameters_of(call, &parameters->memcpy.copyParams, parameters->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto &given = parameters->memset;
      const CUDA_MEMSET_NODE_PARAMS with{given.dst,         given.pitch, given.value,
                                         given.elementSize, given.width, given.height};
      return parameters_of(call, &with, given.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS with{parameters->host.fn, parameters->host.userData};
      return parameters_of(call, &with);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      Graph &child = graph_of(call, parameters->graph.graph);
      return {ChildGraph{&child}};
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return {Empty{}};
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return parameters_of_wait(call, parameters->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return parameters_of_record(call, parameters->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const CUDA_BATCH_MEM_OP_NODE_PARAMS with{parameters->memOp.ctx, parameters->memOp.count,
                                               parameters->memOp.paramArray, parameters->memOp.flags};
      return parameters_of(call, &with);
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS with{};
      with.poolProps = parameters->alloc.poolProps;
      with.accessDescs = parameters->alloc.accessDescs;
      with.accessDescCount = parameters->alloc.accessDescCount;
      with.bytesize = parameters->alloc.bytesize;
      return {MemoryAllocation{memory_of(call, with)}};
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return {MemoryFree{graph_memory_at(call, parameters->free.dptr)}};
#if CUDA_VERSION >= 12030
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return parameters_of(call, parameters->conditional);
#endif
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: {
      const auto &given = parameters->extSemSignal;
      const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1 with{given.extSemArray, given.paramsArray, given.numExtSems};
      return parameters_of(call, &with);
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: {
      const auto &given = parameters->extSemWait;
      const CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1 with{given.extSemArray, given.paramsArray, given.numExtSems};
      return parameters_of(call, &with);
    }
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}
#endif

}  // namespace cushim::sim
