// SPDX-License-Identifier: Apache-2.0
#include "graphs/condition.hpp"

#include "graphs/graph.hpp"

#include "machine/system.hpp"

namespace cushim::sim {

namespace {

constexpr unsigned kNumberBits = 20;  // of a handle

// Returns the smallest handle with this number that no condition has. On an H200, driver 580, the first
// condition of a graph has handle 1 after all other graphs have been destroyed.
cuuint64_t unused_handle(const System &system, unsigned number) {
  cuuint64_t handle = number;
  while (system.conditions.contains(handle)) handle += cuuint64_t{1} << kNumberBits;
  return handle;
}

}  // namespace

GraphCondition::GraphCondition(System &system, unsigned number, CUcontext context)
    : system(system), handle(unused_handle(system, number)), context(context) {
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

std::shared_ptr<GraphCondition> condition_for_node(const Graph &graph, CUcontext context, cuuint64_t handle) {
  const cuuint64_t number = handle & ((cuuint64_t{1} << kNumberBits) - 1);
  const auto &all = root_of(graph).conditions;
  const auto found = all.find(context);
  if (found == all.end() || number == 0 || number > found->second.size()) return nullptr;
  const auto &condition = found->second[number - 1];
  // The upper half of a handle is 0: measured on an H200, driver 580.
  if (handle >> 32 != 0 && find_condition(condition->system, handle) == nullptr) return nullptr;
  return condition->has_node ? nullptr : condition;
}

}  // namespace cushim::sim
