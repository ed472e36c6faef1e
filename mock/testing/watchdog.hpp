// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cushim::testing {

// Ends the process with a message if one step exceeds the time limit: a driver call that hangs cannot be
// interrupted.
class Watchdog {
 public:
  // Calls `before_abort`, if not null, on a thread of its own before it ends the process.
  explicit Watchdog(int limit_seconds, std::function<void()> before_abort = nullptr);
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;
  ~Watchdog();

  // Restarts the time limit for a step; an empty name stops it.
  void watch(std::string what);

 private:
  void run();

  const int limit_seconds_;
  const std::function<void()> before_abort_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string watched_;
  int turn_ = 0;
  bool ended_ = false;
  std::atomic<bool> is_running_{false};
  std::thread thread_;
};

}  // namespace cushim::testing
