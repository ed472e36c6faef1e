// SPDX-License-Identifier: Apache-2.0
#include "api/graph_objects.hpp"

#include <cstring>
#include <string>

#include "commands/submit.hpp"

namespace cushim::sim {

namespace {

template <class T>
T &find(Call &call, const void *handle) {
  T *const found = call.system.handles.find<T>(handle);
  if (found == nullptr) call.report_misuse(handle, T::kKind);
  require(found != nullptr);
  return *found;
}

}  // namespace

Graph &graph_of(Call &call, CUgraph handle) { return find<Graph>(call, handle); }
GraphNode &node_of(Call &call, CUgraphNode handle) { return find<GraphNode>(call, handle); }
ExecutableGraph &executable_of(Call &call, CUgraphExec handle) { return find<ExecutableGraph>(call, handle); }
UserObject &user_object_of(Call &call, CUuserObject handle) { return find<UserObject>(call, handle); }

std::vector<GraphNode *> nodes_of(Call &call, const Graph &graph, const CUgraphNode *handles,
                                  std::size_t count) {
  require(handles != nullptr || count == 0);
  std::vector<GraphNode *> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(&node_of(call, handles[i]));
    require(nodes.back()->graph == &graph);
  }
  return nodes;
}

std::vector<EdgeData> edge_data_of([[maybe_unused]] const void *data, std::size_t count) {
  std::vector<EdgeData> all(count);
#if CUDA_VERSION >= 12030
  const auto *const given = static_cast<const CUgraphEdgeData *>(data);
  for (std::size_t i = 0; given != nullptr && i < count; ++i) {
    require(given[i].type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    require(given[i].from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && given[i].to_port == 0);
    all[i] = {given[i].from_port, given[i].to_port, given[i].type};
  }
#endif
  return all;
}

void call_destructors(Call &call, const Work &after) {
  System &system = call.system;
  while (!system.destructors.empty()) {
    const HostFunction destructor = system.destructors.back();
    system.destructors.pop_back();
    Operation operation{.name = call.name, .on_host = [destructor] { destructor.function(destructor.data); }};
    operation.come_after(after);
    call.start(system.engine.add(std::move(operation)));
  }
}

namespace {

// Visits the graph, its child graphs and its bodies, with the id of the child graph node that each belongs
// to.
template <class Visit>
void for_each_part(const Graph &graph, unsigned long node, const Visit &visit) {
  visit(graph, node);
  if (!graph.has_child_graphs && !graph.has_conditional_nodes) return;
  graph.for_each_node([&](const GraphNode &each) {
    if (const auto *const child = std::get_if<ChildGraph>(&each.command))
      for_each_part(*child->graph, each.id, visit);
    if (const auto *const conditional = std::get_if<Conditional>(&each.command))
      for (const Graph *const body : conditional->bodies) for_each_part(*body, node, visit);
  });
}

void hold(ExecutableGraph &executable, const Graph &graph, unsigned long node) {
  for (const auto &[object, count] : graph.user_objects) {
    executable.user_objects[node][object] += count;
    object->references += count;
  }
}

void release_all(Call &call, const ExecutableGraph::UserObjects &objects) {
  for (const auto &[node, of_node] : objects)
    for (const auto &[object, count] : of_node) release(call.system, *object, count, call.name);
}

}  // namespace

void hold_user_objects(ExecutableGraph &executable, const Graph &graph) {
  for_each_part(graph, 0, [&](const Graph &part, unsigned long node) { hold(executable, part, node); });
}

void replace_user_objects(Call &call, ExecutableGraph &executable, const GraphNode &child,
                          const Graph &graph) {
  ExecutableGraph::UserObjects replaced;
  for_each_part(*std::get<ChildGraph>(child.command).graph, child.id, [&](const Graph &, unsigned long node) {
    replaced.insert(executable.user_objects.extract(node));
  });
  for_each_part(graph, child.id, [&](const Graph &part, unsigned long) { hold(executable, part, child.id); });
  release_all(call, replaced);
  call_destructors(call, executable.last);
}

void replace_user_objects(Call &call, ExecutableGraph &executable, const Graph &graph) {
  ExecutableGraph::UserObjects replaced = std::exchange(executable.user_objects, {});
  hold_user_objects(executable, graph);
  release_all(call, replaced);
  call_destructors(call, executable.last);
}

void release_user_objects(Call &call, ExecutableGraph &executable) {
  release_all(call, executable.user_objects);
}

CUresult add_with_dependencies(Call &call, CUgraphNode *out, Graph &graph, const CUgraphNode *dependencies,
                               std::size_t count, const void *data, NodeParameters &&parameters) {
  require(out != nullptr);
  const std::vector<GraphNode *> after = nodes_of(call, graph, dependencies, count);
  const std::vector<EdgeData> with = edge_data_of(data, count);
  if (auto *const child = std::get_if<ChildGraph>(&parameters.command)) {
    require(child->graph != &graph);
    require(!child->graph->has_memory_nodes && !child->graph->has_conditional_nodes,
            CUDA_ERROR_NOT_SUPPORTED);
    child->graph = &clone(call.system, *child->graph);
    child->graph->parent = &graph;
  }
  if (const auto *const free = std::get_if<MemoryFree>(&parameters.command))
    require(!graph.freed_memory.contains(free->memory.get()));
  if (auto *const conditional = std::get_if<Conditional>(&parameters.command))
    make_bodies(call, graph, *conditional);
  GraphNode &node = add_node(call.system, graph, std::move(parameters.command), parameters.context);
  for (std::size_t i = 0; i < count; ++i) {
    if (find_edge(*after[i], node) != nullptr) {
      destroy_node(call.system, node, call.name);
      fail(CUDA_ERROR_INVALID_VALUE);
    }
    connect(*after[i], node, with[i]);
  }
  *out = handle_of(node);
  return CUDA_SUCCESS;
}

// ---- Parameters of nodes ----

namespace {

// Validates a command in a context; null: the current context.
NodeParameters validated(Call &call, Command command, CUcontext handle) {
  Context &context = handle != nullptr ? call.context(handle) : call.context();
  validate(call, context, command);
  return {std::move(command), reinterpret_cast<CUcontext>(context.handle)};
}

template <class Parameters>
NodeParameters launch_of(Call &call, Function &function, const Parameters &with) {
  const ptx::LaunchShape shape{{with.gridDimX, with.gridDimY, with.gridDimZ},
                               {with.blockDimX, with.blockDimY, with.blockDimZ},
                               {},
                               with.sharedMemBytes};
  return {describe_launch(call, function, shape, false, with.kernelParams, with.extra),
          reinterpret_cast<CUcontext>(function.module->context->handle)};
}

}  // namespace

NodeParameters parameters_of(Call &call, const CUDA_MEMCPY3D *parameters, CUcontext context) {
  require(parameters != nullptr);
  require(parameters->WidthInBytes != 0 && parameters->Height != 0 && parameters->Depth != 0);
  return validated(call, Memcpy(*parameters), context);
}

NodeParameters parameters_of(Call &call, const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context) {
  require(parameters != nullptr);
  const unsigned element = parameters->elementSize;
  require(element == 1 || element == 2 || element == 4);
  require(parameters->width != 0 && parameters->height != 0);
  return validated(call, Memset{*parameters}, context);
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
  return launch_of(call, call.function_of_kernel(call.kernel(parameters->kern), context), *parameters);
}
#endif

NodeParameters parameters_of(Call &call, const CUDA_BATCH_MEM_OP_NODE_PARAMS *parameters) {
  require(parameters != nullptr);
  require(parameters->count <= kMostInBatch && (parameters->count == 0 || parameters->paramArray != nullptr));
  require(parameters->flags == 0 && parameters->ctx != nullptr);
  return validated(call, BatchMemOp{{parameters->paramArray, parameters->paramArray + parameters->count}},
                   parameters->ctx);
}

NodeParameters parameters_of_record(Call &call, CUevent event) {
  require(event != nullptr);
  require(!call.event(event).is_interprocess(), CUDA_ERROR_NOT_SUPPORTED);  // not implemented
  return {EventRecord{event}};
}

NodeParameters parameters_of_wait(Call &call, CUevent event) {
  require(event != nullptr);
  require(!call.event(event).is_interprocess(), CUDA_ERROR_NOT_SUPPORTED);  // not implemented
  return {EventWait{event}};
}

// Peers have access by cuCtxEnablePeerAccess; the descriptions of access are validated and not stored.
std::shared_ptr<GraphMemory> memory_of(Call &call, const CUDA_MEM_ALLOC_NODE_PARAMS &parameters) {
  const CUmemPoolProps &properties = parameters.poolProps;
  require(parameters.bytesize != 0 && properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
          properties.handleTypes == CU_MEM_HANDLE_TYPE_NONE);
  require(properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  require(parameters.accessDescs != nullptr || parameters.accessDescCount == 0);
  for (std::size_t i = 0; i < parameters.accessDescCount; ++i)
    call.device(parameters.accessDescs[i].location.id, CUDA_ERROR_INVALID_VALUE);
  Device &device = call.device(properties.location.id, CUDA_ERROR_INVALID_VALUE);
  std::shared_ptr<GraphMemory> memory = make_graph_memory(call, device, parameters.bytesize);
  require(memory != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  return memory;
}

std::shared_ptr<GraphMemory> graph_memory_at(Call &call, CUdeviceptr address) {
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->base == address && allocation->graph_memory != nullptr);
  return allocation->graph_memory->shared_from_this();
}

CUDA_MEM_ALLOC_NODE_PARAMS parameters_of(const MemoryAllocation &command) {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  parameters.poolProps.location.id = command.memory->device->ordinal;
  parameters.bytesize = command.memory->size;
  parameters.dptr = command.memory->address;
  return parameters;
}

#if CUDA_VERSION >= 12020
NodeParameters parameters_of(Call &call, const CUgraphNodeParams *parameters) {
  require(parameters != nullptr);
  for (const int reserved : parameters->reserved0) require(reserved == 0);
  switch (parameters->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v2 with{};
      static_assert(sizeof with == sizeof parameters->kernel);
      std::memcpy(&with, &parameters->kernel, sizeof with);
      return parameters_of(call, &with);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
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
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      if (parameters->extSemSignal.numExtSems != 0)
        require_no_semaphores(call, parameters->extSemSignal.extSemArray);
      return {ExternalSignal{}};
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      if (parameters->extSemWait.numExtSems != 0)
        require_no_semaphores(call, parameters->extSemWait.extSemArray);
      return {ExternalWait{}};
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}
#endif

}  // namespace cushim::sim
