// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "engine/operation.hpp"

namespace cushim::sim {

// The events that all later work of a context waits for.
class AwaitedEvents {
 public:
  // Adds the record of an event.
  void add(const Work &record) {
    if (record == nullptr) return;
    std::erase_if(records_, [this](const Work &earlier) {
      if (!earlier->is_complete()) return false;
      complete_at_ = std::max(complete_at_, earlier->completed_at);
      return true;
    });
    records_.push_back(record);
  }
  void clear() noexcept { records_.clear(); }

  void put_before(Operation &operation) const {
    for (const Work &record : records_) operation.come_after(record);
    operation.not_before = std::max(operation.not_before, complete_at_);
  }

 private:
  std::vector<Work> records_;
  Time complete_at_ = 0;  // of the records that have been removed
};

}  // namespace cushim::sim
