// SPDX-License-Identifier: Apache-2.0
// The conditions of conditional nodes (CUgraphConditionalHandle).
#pragma once

#include <cuda.h>

#include <memory>
#include <optional>

namespace cushim::sim {

struct Context;
struct ExecutableGraph;
struct Graph;
struct System;

// A condition. The graph that it was created for, the conditional node that uses it, executable graphs and
// their launches share it.
struct GraphCondition : std::enable_shared_from_this<GraphCondition> {
  // `number` counts the conditions of a root graph and a context, from 1.
  GraphCondition(System &system, unsigned number, CUcontext context);
  ~GraphCondition();
  GraphCondition(const GraphCondition &) = delete;
  GraphCondition &operator=(const GraphCondition &) = delete;

  System &system;
  const cuuint64_t handle;  // never 0
  const CUcontext context;
  std::optional<unsigned> at_launch{};          // the value at the start of each launch; none: undefined
  bool has_node = false;                        // at most one node may use it
  const ExecutableGraph *executable = nullptr;  // there may be one at a time
  std::optional<unsigned> value{};              // in the current launch; none: undefined
};

// Returns null if there is no such condition.
GraphCondition *find_condition(const System &system, cuuint64_t handle);

// Sets the value of a condition, for a kernel. Returns false if the kernel's context has no such condition.
// Takes the machine's lock.
bool set_conditional(System &system, const Context &context, cuuint64_t handle, unsigned value);

// Returns the condition that a new node of a graph may use; null if there is none. A handle names it by its
// number alone, in the graph without parent that contains the node: the handle may be that of another graph.
// Measured on an H200, driver 580.
std::shared_ptr<GraphCondition> condition_for_node(const Graph &graph, CUcontext context, cuuint64_t handle);

}  // namespace cushim::sim
