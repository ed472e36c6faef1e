// SPDX-License-Identifier: Apache-2.0
#include "watchdog.hpp"

#include <cushim/mock/own_thread.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cushim::testing {

Watchdog::Watchdog(int limit_seconds, std::function<void()> before_abort)
    : limit_seconds_(limit_seconds), before_abort_(std::move(before_abort)), thread_([this] { run(); }) {
  is_running_.wait(false);  // from here on, its thread counts as one of cushim's
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::watch(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    watched_ = std::move(what);
    ++turn_;
  }
  changed_.notify_all();
}

void Watchdog::run() {
  const mock::OwnThread own;
  is_running_ = true;
  is_running_.notify_all();
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (watched_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const int turn = turn_;
    const bool moved = changed_.wait_for(lock, std::chrono::seconds(limit_seconds_),
                                         [&] { return ended_ || turn_ != turn; });
    if (moved) continue;
    std::fprintf(stderr, "cushim: %s did not end within %d s; the program aborts\n", watched_.c_str(),
                 limit_seconds_);
    if (before_abort_ != nullptr) before_abort_();
    std::abort();
  }
}

}  // namespace cushim::testing
