// SPDX-License-Identifier: Apache-2.0
// A thread that runs the host functions of a program in their order.
#pragma once

#include <cushim/mock/own_thread.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace cushim::replay {

class HostFunctions {
 public:
  HostFunctions() = default;
  HostFunctions(const HostFunctions &) = delete;
  HostFunctions &operator=(const HostFunctions &) = delete;
  // Runs the remaining functions.
  ~HostFunctions() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
  }

  void add(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(function));
    if (!thread_.joinable()) thread_ = mock::start_thread([this] { run(); });
    changed_.notify_all();
  }

  // Waits until all have run. Returns at once inside a host function.
  void wait() {
    std::unique_lock lock(mutex_);
    if (thread_.get_id() == std::this_thread::get_id()) return;
    changed_.wait(lock, [&] { return waiting_.empty() && !is_running_; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::function<void()> function = std::move(waiting_.front());
      waiting_.pop_front();
      is_running_ = true;
      lock.unlock();
      function();
      lock.lock();
      is_running_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_running_ = false, is_ending_ = false;
  std::jthread thread_;  // last, so that it is joined before the members that it uses are destroyed
};

}  // namespace cushim::replay
