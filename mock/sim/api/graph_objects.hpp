// SPDX-License-Identifier: Apache-2.0
// Arguments of the calls about graphs.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "api/service.hpp"
#include "graphs/executable.hpp"
#include "graphs/graph.hpp"
#include "graphs/graph_memory.hpp"

namespace cushim::sim {

// Return the object of a handle; else INVALID_VALUE.
Graph &graph_of(Call &call, CUgraph handle);
GraphNode &node_of(Call &call, CUgraphNode handle);
ExecutableGraph &executable_of(Call &call, CUgraphExec handle);
UserObject &user_object_of(Call &call, CUuserObject handle);

// Returns the nodes of an array of handles. INVALID_VALUE if the array is null and `count` is not 0, or if a
// node is not in the graph.
std::vector<GraphNode *> nodes_of(Call &call, const Graph &graph, const CUgraphNode *handles,
                                  std::size_t count);

// Returns data for each of `count` edges; `data` may be null. INVALID_VALUE for unknown types and ports.
std::vector<EdgeData> edge_data_of(const void *data, std::size_t count);

// Returns whether an edge with this data may lead from one node to another. Only kernels have ports, and only
// kernels follow a programmatic dependency. Measured on an H200, driver 580.
bool may_connect(const Command &from, const Command &to, const EdgeData &data);

// Writes the handles of `count` found objects to an array of *size elements, sets the rest to null, and *size
// to the number written. With a null array, only sets *size to `count`. `for_each(visit)` visits the objects.
template <class Handle, class ForEach>
void write_handles(Handle *out, std::size_t *size, std::size_t count, ForEach for_each) {
  require(size != nullptr);
  if (out != nullptr) {
    require(*size != 0);  // measured, driver 580
    std::size_t next = 0;
    for_each([&](auto &object) {
      if (next < *size) out[next] = handle_of(object);
      ++next;
    });
    for (std::size_t i = next; i < *size; ++i) out[i] = nullptr;
    count = std::min(count, *size);
  }
  *size = count;
}

CUgraphNodeType type_of(const Command &command);

// CU_GRAPH_NODE_TYPE_CONDITIONAL, which the headers before CUDA 12.3 lack.
inline constexpr auto kConditionalNode = static_cast<CUgraphNodeType>(13);

// CUDA_ERROR_LOSSY_QUERY, which the headers before CUDA 12.3 lack.
inline constexpr auto kLossyQuery = static_cast<CUresult>(402);

// Visits a graph, its child graphs and its bodies.
void for_each_part(const Graph &graph, const std::function<void(const Graph &)> &visit);

// Calls the destructors of user objects that have no references any more, after `after` is complete.
void call_destructors(Call &call, const Work &after = nullptr);
// Adds the references of a graph, of its child graphs and of its bodies to user objects to those of an
// executable graph.
void hold_user_objects(ExecutableGraph &executable, const Graph &graph);
// Replaces those of a child graph node by those of a graph. Releases the others after the last launch.
void replace_user_objects(Call &call, ExecutableGraph &executable, const GraphNode &child,
                          const Graph &graph);
// The same for all references of the executable graph.
void replace_user_objects(Call &call, ExecutableGraph &executable, const Graph &graph);
void release_user_objects(Call &call, ExecutableGraph &executable);

// ---- Parameters of nodes, as the calls declare them ----

// A command, and the context in which its node runs; null: that of the launch.
struct NodeParameters {
  Command command;
  CUcontext context = nullptr;
};

// Validate and describe. INVALID_VALUE for null, and the errors of the command's entry point.
NodeParameters parameters_of(Call &call, const CUDA_MEMCPY3D *parameters, CUcontext context);
NodeParameters parameters_of(Call &call, const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context);
NodeParameters parameters_of(Call &call, const CUDA_HOST_NODE_PARAMS *parameters);
NodeParameters parameters_of(Call &call, const CUDA_KERNEL_NODE_PARAMS_v1 *parameters);
#if CUDA_VERSION >= 12000
NodeParameters parameters_of(Call &call, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters);
#endif
NodeParameters parameters_of(Call &call, const CUDA_BATCH_MEM_OP_NODE_PARAMS *parameters);
NodeParameters parameters_of(Call &call, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1 *parameters);
NodeParameters parameters_of(Call &call, const CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1 *parameters);
// Return the parameters of a semaphore node. Their arrays are parts of the command.
CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1 parameters_of(ExternalSignal &command);
CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1 parameters_of(ExternalWait &command);
NodeParameters parameters_of_record(Call &call, CUevent event);
NodeParameters parameters_of_wait(Call &call, CUevent event);
// Makes the memory of an allocation node; writes no address to the parameters. OUT_OF_MEMORY.
std::shared_ptr<GraphMemory> memory_of(Call &call, const CUDA_MEM_ALLOC_NODE_PARAMS &parameters);
// Returns the memory of an allocation node that begins at the address; else INVALID_VALUE.
std::shared_ptr<GraphMemory> graph_memory_at(Call &call, CUdeviceptr address);
CUDA_MEM_ALLOC_NODE_PARAMS parameters_of(const MemoryAllocation &command);
#if CUDA_VERSION >= 12020
// Makes the memory of an allocation node, as memory_of() does.
NodeParameters parameters_of(Call &call, const CUgraphNodeParams *parameters);
// Returns the parameters of a node. Pointers in them are valid until the node is destroyed or changed.
CUgraphNodeParams parameters_of_any(Call &call, GraphNode &node);
// INVALID_VALUE unless the bytes that the type of node does not use are 0.
void require_zero_unused(const CUgraphNodeParams &parameters);
// INVALID_VALUE for parameters of another type of node.
inline void require_type(const GraphNode &node, const CUgraphNodeParams *parameters) {
  require(parameters != nullptr && parameters->type == type_of(node.command));
}
// Other parameters cannot be set for nodes that allocate or free memory, and for conditional nodes:
// INVALID_VALUE.
inline void require_settable(const CUgraphNodeParams *parameters) {
  require(parameters == nullptr ||
          (parameters->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
           parameters->type != CU_GRAPH_NODE_TYPE_MEM_FREE && parameters->type != kConditionalNode));
}
#endif
#if CUDA_VERSION >= 12030
// Describes a conditional node without its condition and its bodies. INVALID_VALUE for a wrong type or size.
NodeParameters parameters_of(Call &call, const CUDA_CONDITIONAL_NODE_PARAMS &parameters);
// Sets the condition of a new node of a graph. INVALID_VALUE for an unknown handle, and for one that another
// node uses.
void set_condition(NodeParameters &with, const Graph &graph, const CUDA_CONDITIONAL_NODE_PARAMS &parameters);
// Returns the parameters of a conditional node, with the array of its bodies.
CUDA_CONDITIONAL_NODE_PARAMS parameters_of(GraphNode &node);
#endif
// Makes the bodies of a new conditional node of a graph.
void make_bodies(Call &call, Graph &graph, Conditional &conditional);

// Why a graph cannot be instantiated.
struct Refusal {
  CUresult code = CUDA_SUCCESS;  // CUDA_SUCCESS: no reason
  int result = 1;                // CUgraphInstantiateResult; 1: see the code
  CUgraphNode node = nullptr;    // that is in error, if it is one
};
// Returns whether a conditional handle of the graph has no node.
bool has_unused_condition(const Graph &graph);
// Checks the nodes of bodies. INVALID_VALUE for a node in another context than the handle's; NOT_SUPPORTED
// for other nodes that must not be in a body.
Refusal refusal_of(Call &call, const Graph &graph);

// Copies the attributes of a kernel node to a launch that replaces the node's launch. Returns the errors of
// cuLaunchKernelEx.
void keep_attributes(Call &call, const KernelLaunch &before, KernelLaunch &after);

// NOT_SUPPORTED for a graph that cannot become a part of a node: one with memory nodes or conditional nodes,
// or a part itself. Comes before the checks of other arguments. Measured on an H200, driver 580.
void require_child(const Graph &graph);
// Returns the copy of a graph that becomes a part of a node of another graph.
Graph &child_of(Call &call, Graph &parent, const Graph &graph);

// Adds a node that follows others of the graph, with data of the edges, which may be null. NOT_SUPPORTED for
// a child graph that has memory nodes or conditional nodes; INVALID_VALUE if the graph frees the memory
// already.
CUresult add_with_dependencies(Call &call, CUgraphNode *out, Graph &graph, const CUgraphNode *dependencies,
                               std::size_t count, const void *data, NodeParameters &&parameters);

// Returns a node's command of this type; else INVALID_VALUE.
template <class OneCommand, class Node>
OneCommand &command_of(Node &node) {
  auto *const found = std::get_if<OneCommand>(&node.command);
  require(found != nullptr);
  return *found;
}

}  // namespace cushim::sim
