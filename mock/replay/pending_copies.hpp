// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies to host memory that a thread has enqueued and not yet waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cushim::replay {

struct PendingCopy {
  std::uint64_t stream = 0;  // handle
  std::uint64_t address = 0, size = 0;
  std::uint64_t call = 0;  // RecordedCall::begin of the call that enqueued it
};

class PendingCopies {
 public:
  // Replaces copies to the same memory, of which nothing will remain. Forgets the oldest copy if there are
  // too many.
  void add(const PendingCopy &copy) {
    std::erase_if(copies_, [&](const PendingCopy &other) {
      return other.address < copy.address + copy.size && copy.address < other.address + other.size;
    });
    if (copies_.size() == kMost) copies_.erase(copies_.begin());
    copies_.push_back(copy);
  }
  // Removes the copies of a stream, and returns them.
  std::vector<PendingCopy> take(std::uint64_t stream) {
    std::vector<PendingCopy> taken;
    std::erase_if(copies_, [&](const PendingCopy &copy) {
      if (copy.stream != stream) return false;
      taken.push_back(copy);
      return true;
    });
    return taken;
  }
  void clear() noexcept { copies_.clear(); }

 private:
  static constexpr std::size_t kMost = 256;
  std::vector<PendingCopy> copies_;
};

}  // namespace cushim::replay
