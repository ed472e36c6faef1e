// SPDX-License-Identifier: Apache-2.0
// The pool of in-process drivers: ownership and reuse of driver slots.
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "../gmock/failing.hpp"

namespace {

using cushim::Driver;
using cushim::mock::MockDriver;
using cushim::mock::PoolExhausted;
using testing::HasSubstr;

// Returns as many mocks as the pool can hold. The hooks of other tests keep some driver slots.
std::vector<std::unique_ptr<MockDriver>> fill() {
  std::vector<std::unique_ptr<MockDriver>> mocks;
  try {
    for (;;) mocks.push_back(std::make_unique<MockDriver>());
  } catch (const PoolExhausted &) {
  }
  return mocks;
}

TEST(Pool, Drivers_that_live_at_once_are_different) {
  const auto mocks = fill();
  std::set<Driver *> drivers;
  for (const auto &mock : mocks) drivers.insert(&mock->driver());
  EXPECT_EQ(drivers.size(), mocks.size());
  EXPECT_GE(mocks.size(), 8u);
}

TEST(Pool, The_error_of_a_full_pool_names_the_owners) {
  const auto mocks = fill();
  try {
    MockDriver one_too_many;
    FAIL() << "there was room";
  } catch (const PoolExhausted &error) {
    EXPECT_THAT(error.what(), HasSubstr("All 16 in-process drivers are in use: mock driver"));
  }
}

TEST(Pool, A_slot_that_became_free_is_taken_again) {
  auto mocks = fill();
  mocks.pop_back();
  EXPECT_NO_THROW(MockDriver());
}

TEST(Pool, The_slot_that_was_retired_longest_ago_is_taken_first) {
  std::optional<MockDriver> first;
  first.emplace();
  Driver *const left = &first->driver();
  first.reset();
  const MockDriver next;
  EXPECT_NE(&next.driver(), left) << "late calls to the first would not be found out";
}

TEST(Pool, Each_driver_gets_its_own_calls) {
  auto mocks = fill();
  for (std::size_t i = 0; i < mocks.size(); ++i)
    EXPECT_CALL(*mocks[i], cuDeviceGetCount).WillOnce(cushim::mock::Gives(static_cast<int>(i)));
  for (std::size_t i = mocks.size(); i-- > 0;) {
    int count = -1;
    EXPECT_EQ(mocks[i]->driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, static_cast<int>(i));
  }
}

TEST(Pool, The_end_of_a_driver_waits_for_the_calls_inside) {
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_leave{false};
  std::atomic<bool> left{false};
  auto mock = std::make_unique<MockDriver>();
  Driver &driver = mock->driver();
  EXPECT_CALL(*mock, cuCtxSynchronize).WillOnce([&] {
    is_inside = true;
    is_inside.notify_all();
    may_leave.wait(false);
    left = true;
    return CUDA_SUCCESS;
  });
  std::thread caller([&] { EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS); });
  is_inside.wait(false);
  std::thread releaser([&] {
    // New calls return CUDA_ERROR_DEINITIALIZED as soon as the end has begun.
    failures_of([&] {
      while (driver.cuCtxSynchronize() != CUDA_ERROR_DEINITIALIZED) {
      }
    });
    EXPECT_FALSE(left);
    may_leave = true;
    may_leave.notify_all();
  });
  mock.reset();
  EXPECT_TRUE(left);
  caller.join();
  releaser.join();
}

}  // namespace
