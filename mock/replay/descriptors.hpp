// SPDX-License-Identifier: Apache-2.0
// File descriptors that a replayed process exported, by their recorded numbers. The process may import them
// again.
#pragma once

#include <unistd.h>

#include <map>
#include <optional>

namespace cushim::replay {

class Descriptors {
 public:
  Descriptors() = default;
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;
  ~Descriptors() {
    for (const auto &[recorded, replayed] : replayed_) close(replayed);
  }

  // Owns `replayed`. The program may use the recorded number again after it has closed the descriptor.
  void add(int recorded, int replayed) {
    const auto [found, is_new] = replayed_.emplace(recorded, replayed);
    if (is_new) return;
    close(found->second);
    found->second = replayed;
  }
  std::optional<int> find(int recorded) const {
    const auto found = replayed_.find(recorded);
    return found != replayed_.end() ? std::optional(found->second) : std::nullopt;
  }
  // A call took ownership of the descriptor.
  void release(int recorded) { replayed_.erase(recorded); }

 private:
  std::map<int, int> replayed_;
};

}  // namespace cushim::replay
