// SPDX-License-Identifier: Apache-2.0
// Hooks with several threads.
#include <gtest/gtest.h>
#include <cushim/mock/hook.hpp>
#include <cushim/mock/mock_driver.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using cushim::mock::MockDriver;
namespace hook = cushim::hook;

TEST(HookThreads, Removal_waits_for_the_calls_inside) {
  MockDriver mock;
  EXPECT_CALL(mock, cuCtxSynchronize).Times(testing::AnyNumber());
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_leave{false};
  std::atomic<bool> left{false};
  hook::Hook slow = hook::before<&cuCtxSynchronize>(mock, [&] {
    is_inside = true;
    is_inside.notify_all();
    may_leave.wait(false);
    left = true;
  });
  std::thread caller([&] { mock.driver().cuCtxSynchronize(); });
  is_inside.wait(false);
  std::thread releaser([&] {
    EXPECT_FALSE(left);
    may_leave = true;
    may_leave.notify_all();
  });
  slow.remove();
  EXPECT_TRUE(left);
  caller.join();
  releaser.join();
}

TEST(HookThreads, After_removal_a_hook_never_runs_again_whatever_other_threads_do) {
  MockDriver mock;
  mock.allow_unset(CUDA_ERROR_NOT_READY);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      while (!stop) wrong += mock.driver().cuCtxSynchronize() != CUDA_ERROR_NOT_READY;
    });
  for (int round = 0; round < 300; ++round) {
    std::atomic<bool> is_on{true};
    hook::Hook one = hook::before<&cuCtxSynchronize>(mock, [&] { wrong += !is_on; });
    hook::Hook other = hook::after<&cuCtxSynchronize>(mock, [&](CUresult) { wrong += !is_on; });
    other.remove();
    one.remove();
    is_on = false;
  }
  stop = true;
  for (std::thread &caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(HookThreads, Hooks_on_one_entry_may_be_installed_by_many_threads_at_once) {
  MockDriver mock;
  mock.allow_unset(CUDA_ERROR_NOT_READY);
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const auto counted = hook::before<&cuCtxSynchronize>(mock, [&] { ++calls; });
        mock.driver().cuCtxSynchronize();
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_GE(calls, 200);
}

}  // namespace
