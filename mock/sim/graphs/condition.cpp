// SPDX-License-Identifier: Apache-2.0
#include "graphs/condition.hpp"

#include "graphs/graph.hpp"

#include "machine/system.hpp"

namespace cushim::sim {

GraphCondition::GraphCondition(System &system, const Graph &graph, CUcontext context)
    : system(system), handle(++system.last_condition), graph(graph.id), context(context) {
  system.conditions.emplace(handle, this);
}

GraphCondition::~GraphCondition() { system.conditions.erase(handle); }

GraphCondition *find_condition(const System &system, cuuint64_t handle) {
  const auto found = system.conditions.find(handle);
  return found != system.conditions.end() ? found->second : nullptr;
}

bool set_conditional(System &system, const Context &context, cuuint64_t handle, unsigned value) {
  const std::lock_guard lock(system.mutex);
  GraphCondition *const condition = find_condition(system, handle);
  if (condition == nullptr || condition->context != reinterpret_cast<CUcontext>(context.handle)) return false;
  condition->value = value;
  return true;
}

bool is_in_scope(const GraphCondition &condition, const Graph &graph) {
  const Graph *each = &graph;
  while (each != nullptr && each->id != condition.graph) each = each->parent;
  return each != nullptr;
}

}  // namespace cushim::sim
