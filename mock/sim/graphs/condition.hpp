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
  GraphCondition(System &system, const Graph &graph, CUcontext context);
  ~GraphCondition();
  GraphCondition(const GraphCondition &) = delete;
  GraphCondition &operator=(const GraphCondition &) = delete;

  System &system;
  const cuuint64_t handle;    // never 0, never reused
  const unsigned long graph;  // id of the graph that it was created for
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

// Returns whether a graph is the one that the condition was created for, or a part of it.
bool is_in_scope(const GraphCondition &condition, const Graph &graph);

}  // namespace cushim::sim
