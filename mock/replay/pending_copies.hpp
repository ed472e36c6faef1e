// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies to host memory that a thread has enqueued and not yet waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "stream_contexts.hpp"

namespace cushim::replay {

struct PendingCopy {
  std::uint64_t stream = 0;   // handle
  std::uint64_t context = 0;  // of the stream; 0 if it is unknown
  std::uint64_t address = 0, size = 0;
  std::uint64_t call = 0;  // RecordedCall::begin of the call that enqueued it
};

class PendingCopies {
 public:
  // Replaces copies to the same memory, of which nothing will remain. Forgets the oldest copy if there are
  // too many.
  void add(const PendingCopy &copy) {
    forget(copy.address, copy.size);
    if (copies_.size() == kMost) copies_.erase(copies_.begin());
    copies_.push_back(copy);
  }
  // Removes the copies to a range, which is other memory now.
  void forget(std::uint64_t address, std::uint64_t size) {
    std::erase_if(copies_, [&](const PendingCopy &copy) {
      return copy.address < address + size && address < copy.address + copy.size;
    });
  }
  // Removes the copies of a stream that were enqueued before a call, by its RecordedCall::begin, and returns
  // them.
  std::vector<PendingCopy> take(std::uint64_t stream, std::uint64_t before = ~std::uint64_t{0}) {
    return take_if([=](const PendingCopy &copy) { return copy.stream == stream && copy.call < before; });
  }
  // Removes the copies in streams of a context, and returns them.
  std::vector<PendingCopy> take_of_context(std::uint64_t context) {
    return take_if([=](const PendingCopy &copy) { return waits_for_context(context, copy.context); });
  }
  // Tells that the thread recorded an event in a stream, by a call with this RecordedCall::begin.
  void record(std::uint64_t event, std::uint64_t stream, std::uint64_t call) {
    events_[event] = {stream, call};
  }
  // Removes the copies before the event, if the thread recorded it, and returns them.
  std::vector<PendingCopy> take_before(std::uint64_t event) {
    const auto found = events_.find(event);
    if (found == events_.end()) return {};
    return take(found->second.first, found->second.second);
  }
  bool is_empty() const noexcept { return copies_.empty(); }
  void clear() noexcept { copies_.clear(); }

 private:
  template <class Wanted>
  std::vector<PendingCopy> take_if(Wanted wanted) {
    std::vector<PendingCopy> taken;
    std::erase_if(copies_, [&](const PendingCopy &copy) {
      if (!wanted(copy)) return false;
      taken.push_back(copy);
      return true;
    });
    return taken;
  }

  static constexpr std::size_t kMost = 256;
  std::vector<PendingCopy> copies_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> events_;  // stream and call, by handle
};

}  // namespace cushim::replay
