// SPDX-License-Identifier: Apache-2.0
#include "execute/thread_pool.hpp"

#include <cushim/mock/own_thread.hpp>

#include <algorithm>
#include <condition_variable>
#include <system_error>
#include <thread>

namespace cushim::ptx::execute {
namespace {

// A pool of threads that help with launches. They start with the first launch that can use them, block the
// program's signals, and never end: the program may exit while they run, and a forked child has none of them.
class Pool {
 public:
  static Pool &instance() {
    static Pool &pool = *new Pool;
    return pool;
  }
  // Runs `launch` on the caller and up to `helpers` threads.
  void run(Launch &launch, unsigned helpers) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    // With several launches at once, each runs on its caller's thread.
    if (!lock.owns_lock() || launch_ != nullptr) {
      if (lock.owns_lock()) lock.unlock();
      return work(launch);
    }
    start_threads(helpers);
    launch_ = &launch;
    wanted_ = std::min(helpers, threads_);
    lock.unlock();
    wake_.notify_all();
    work(launch);
    lock.lock();
    wanted_ = 0;
    done_.wait(lock, [this] { return running_ == 0; });
    launch_ = nullptr;
  }

 private:
  // Starts fewer threads if the system has no more.
  void start_threads(unsigned count) {
    try {
      for (; threads_ < count; ++threads_) mock::start_thread([this] { help(); }).detach();
    } catch (const std::system_error &) {
    }
  }

  void help() {
    const mock::OwnThread own;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return wanted_ != 0; });
      --wanted_;
      ++running_;
      Launch &launch = *launch_;
      lock.unlock();
      work(launch);
      lock.lock();
      if (--running_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  unsigned threads_ = 0;
  Launch *launch_ = nullptr;
  unsigned wanted_ = 0, running_ = 0;
};

}  // namespace

void run_on_pool(Launch &launch, unsigned helpers) { Pool::instance().run(launch, helpers); }

}  // namespace cushim::ptx::execute
