// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cushim/mock/mutex.hpp>

#include <mutex>
#include <thread>
#include <vector>

namespace cushim::mock {
namespace {

TEST(Mutexes, Admit_one_thread_at_a_time_and_all_finally) {
  constexpr int kThreads = 4, kTimes = 20'000;
  Mutex mutex;
  int count = 0;  // not atomic: without mutual exclusion, increments are lost
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        for (int time = 0; time < kTimes; ++time) {
          const std::lock_guard lock(mutex);
          ++count;
        }
      });
  }
  EXPECT_EQ(count, kThreads * kTimes);
}

TEST(Mutexes, Cannot_be_locked_while_the_first_thread_of_the_process_holds_them) {
  Mutex mutex;
  mutex.lock();
  bool was_free = true;
  std::thread([&] { was_free = mutex.try_lock(); }).join();
  EXPECT_FALSE(was_free);
  mutex.unlock();
  std::thread([&] {
    was_free = mutex.try_lock();
    mutex.unlock();
  }).join();
  EXPECT_TRUE(was_free);
}

TEST(Mutexes, Wake_sleeping_threads) {
  Mutex mutex;
  bool was_in = false;
  mutex.lock();
  std::thread sleeper([&] {
    const std::lock_guard lock(mutex);
    was_in = true;
  });
  mutex.unlock();
  sleeper.join();
  EXPECT_TRUE(was_in);
}

}  // namespace
}  // namespace cushim::mock
