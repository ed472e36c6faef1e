// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cushim/mock/mutex.hpp>

#include <mutex>
#include <thread>
#include <vector>

namespace cushim::mock {
namespace {

TEST(Mutexes, Let_one_thread_in_at_a_time_and_all_in_at_last) {
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

TEST(Mutexes, Are_refused_while_another_thread_has_them_also_one_that_had_no_others_when_it_took_them) {
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

TEST(Mutexes, Wake_those_who_sleep) {
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
