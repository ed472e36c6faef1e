// SPDX-License-Identifier: Apache-2.0
// Captures that do not end as they should, and user objects that keep references of the program.
#pragma once

#include <cuda.h>
#include <cushim/check/finding.hpp>
#include <cushim/mock/mutex.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/watch.hpp"

namespace cushim::check {

// Rules: capture-not-ended, capture-not-joined, never-released (of user objects).
class GraphLeaks final : public Watcher {
 public:
  GraphLeaks(Driver &driver, std::function<void(Finding)> report);

  void before(WatchedCall &call) override;
  void after(WatchedCall &call, CUresult result) override;

  // Reports captures that have not ended and user objects that have not been released, each once.
  void finish();

 private:
  // A stream of a call: a handle, and the thread if that is CU_STREAM_PER_THREAD.
  using StreamKey = std::pair<std::uint64_t, std::uint64_t>;
  struct Capture {
    cuuint64_t id = 0;
    CUcontext context = nullptr;
    Finding::Call begun{};
    std::vector<Finding::Call> joined{};  // the waits by which other streams joined the capture
  };
  struct UserObject {
    std::uint64_t references = 0;  // of the program
    Finding::Call made{};
  };

  void begin_capture(const WatchedCall &call);
  void end_capture(const WatchedCall &call, CUresult result);
  void join_capture(const WatchedCall &call);
  void report_not_ended(std::uint64_t stream, const Capture &capture, const WatchedCall *by);
  void end_captures_of(CUcontext context, const WatchedCall &by);
  void count_references(const WatchedCall &call);

  Driver &driver_;
  const std::function<void(Finding)> report_;
  mock::Mutex mutex_;  // guards the next two
  std::map<StreamKey, Capture> captures_;
  std::atomic<bool> has_captures_{false};  // false: `captures_` is empty
  std::unordered_map<std::uint64_t, UserObject> user_objects_;
  // last member: removed first, so that no call is inside when the rest is destroyed
  std::vector<hook::Hook> hooks_;
};

}  // namespace cushim::check
