// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "engine/operation.hpp"

namespace cushim::sim {

// Returns the tasks that must complete before all of these works are complete.
inline std::unordered_set<const Task *> unfinished(std::span<const Work> works) {
  std::unordered_set<const Task *> found;
  std::vector<const Task *> open;
  const auto see = [&](const Task &task) {
    if (found.insert(&task).second) open.push_back(&task);
  };
  for (const Work &work : works)
    if (!is_complete(work)) see(*work);
  while (!open.empty()) {
    const Task &task = *open.back();
    open.pop_back();
    task.for_each_earlier(see);
  }
  return found;
}

}  // namespace cushim::sim
