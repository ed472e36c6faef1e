// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "engine/operation.hpp"

namespace cushim::sim {

// A binary heap of tasks by serial number. Each task knows its index, so any task can be removed.
class ReadyHeap {
 public:
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  Task &operator[](std::size_t i) const noexcept { return *entries_[i].task; }
  // Returns the task that was submitted first. Requires that the heap is not empty.
  Task &first() const noexcept { return *entries_.front().task; }

  void reserve(std::size_t size) { entries_.reserve(size); }

  void push(Task &task) {
    entries_.push_back({task.serial, &task});
    rise(entries_.size() - 1);
  }

  void erase(const Task &task) {
    const std::size_t hole = task.index;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (hole == entries_.size()) return;
    put(hole, last);
    rise(hole);
    sink(last.task->index);
  }

 private:
  struct Entry {
    unsigned long serial;
    Task *task;
  };

  void put(std::size_t i, const Entry &entry) {
    entries_[i] = entry;
    entry.task->index = i;
  }
  void rise(std::size_t i) {
    const Entry entry = entries_[i];
    for (; i != 0 && entry.serial < entries_[(i - 1) / 2].serial; i = (i - 1) / 2)
      put(i, entries_[(i - 1) / 2]);
    put(i, entry);
  }
  void sink(std::size_t i) {
    const Entry entry = entries_[i];
    for (std::size_t child = 2 * i + 1; child < entries_.size(); child = 2 * i + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1].serial < entries_[child].serial) ++child;
      if (entry.serial < entries_[child].serial) break;
      put(i, entries_[child]);
      i = child;
    }
    put(i, entry);
  }

  std::vector<Entry> entries_;
};

}  // namespace cushim::sim
