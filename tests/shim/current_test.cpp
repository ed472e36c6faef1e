// SPDX-License-Identifier: Apache-2.0
// The current driver, and the identity of drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include <atomic>
#include <barrier>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "support/every_entry.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"

namespace {

using cushim::Driver;
using cushim::ScopedDriver;

// Returns an in-process driver that has only cuCtxSynchronize, which returns `code`.
template <int code>
Driver &returning() {
  const auto resolve = [](void *, const char *symbol) -> void (*)() {
    if (std::strcmp(symbol, "cuCtxSynchronize") != 0) return nullptr;
    return reinterpret_cast<void (*)()>(+[]() -> CUresult { return static_cast<CUresult>(code); });
  };
  static Driver &driver = Driver::from_functions("in-process", 12000, resolve);
  return driver;
}

TEST(Current, Without_a_scope_it_is_the_default_driver) {
  EXPECT_EQ(&cushim::current_driver(), &Driver::by_default());
  EXPECT_EQ(&cushim::current_driver(), cushim_default_driver());
}

TEST(Current, A_scope_makes_its_driver_current_and_ends) {
  {
    const ScopedDriver scope(returning<1>());
    EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 1);
    EXPECT_EQ(cushim::driver()->name(), "in-process");
  }
  EXPECT_EQ(&cushim::current_driver(), &Driver::by_default());
}

TEST(Current, A_stored_reference_follows_the_scopes) {
  auto &driver = cushim::driver();
  const ScopedDriver outer(returning<1>());
  EXPECT_EQ(driver.cuCtxSynchronize(), 1);
  {
    const ScopedDriver inner(returning<2>());
    EXPECT_EQ(driver.cuCtxSynchronize(), 2);
  }
  EXPECT_EQ(driver.cuCtxSynchronize(), 1);
}

TEST(Current, Of_nested_scopes_the_innermost_decides) {
  const ScopedDriver outer(returning<1>());
  {
    const ScopedDriver inner(returning<2>());
    EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 2);
  }
  EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 1);
}

TEST(Current, Scopes_that_end_out_of_order_leave_the_newest_alive_current) {
  auto first = std::make_unique<ScopedDriver>(returning<1>());
  auto second = std::make_unique<ScopedDriver>(returning<2>());
  auto third = std::make_unique<ScopedDriver>(returning<3>());
  second.reset();
  EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 3);
  third.reset();
  EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 1);
  auto fourth = std::make_unique<ScopedDriver>(returning<2>());
  first.reset();
  EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 2);
  fourth.reset();
  EXPECT_EQ(&cushim::current_driver(), &Driver::by_default());
}

TEST(Current, Scopes_that_end_oldest_first_leave_the_newest_current_to_the_last) {
  auto first = std::make_unique<ScopedDriver>(returning<1>());
  auto second = std::make_unique<ScopedDriver>(returning<2>());
  auto third = std::make_unique<ScopedDriver>(returning<3>());
  second.reset();
  first.reset();
  EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 3);
  third.reset();
  EXPECT_EQ(&cushim::current_driver(), &Driver::by_default());
}

TEST(Current, The_same_driver_may_be_entered_twice) {
  const ScopedDriver outer(returning<1>());
  { const ScopedDriver inner(returning<1>()); }
  EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 1);
}

TEST(Current, A_scope_holds_for_threads_that_are_started_in_it_and_for_those_that_ran_before) {
  std::barrier step(2);
  int seen_before = 0, seen_in = 0;
  const ScopedDriver outer(returning<1>());
  std::thread thread([&] {
    seen_before = cushim::driver().cuCtxSynchronize();
    step.arrive_and_wait();
    step.arrive_and_wait();
    seen_in = cushim::driver().cuCtxSynchronize();
  });
  step.arrive_and_wait();
  const ScopedDriver inner(returning<2>());
  step.arrive_and_wait();
  thread.join();
  EXPECT_EQ(seen_before, 1);
  EXPECT_EQ(seen_in, 2);
}

TEST(Current, Threads_may_enter_leave_and_call_at_once) {
  constexpr int kThreads = 4, kRounds = 2000;
  const ScopedDriver ground(returning<1>());
  std::barrier start(kThreads);
  std::atomic<int> strange = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        const ScopedDriver scope(round % 2 == 0 ? returning<2>() : returning<3>());
        const int code = cushim::driver().cuCtxSynchronize();
        strange += code < 1 || code > 3;
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(strange, 0);
  EXPECT_EQ(cushim::driver().cuCtxSynchronize(), 1);
}

TEST(Current, An_in_process_driver_answers_302_for_what_it_does_not_serve) {
  Driver &driver = returning<1>();
  int missing = 0;
  every_entry(driver, [&](int, const CushimEntryInfo &entry, int code) {
    if (std::string(entry.symbol) == "cuCtxSynchronize") return;
    EXPECT_EQ(code, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND) << entry.symbol;
    ++missing;
  });
  EXPECT_EQ(missing, cushim_entry_count() - 1);
  EXPECT_EQ(driver.version(), 12000);
  EXPECT_EQ(driver.lookup(), CUSHIM_LOOKUP_IN_PROCESS);
}

TEST(Identity, The_same_library_gives_the_same_driver_each_time_and_by_each_path) {
  const Folder folder;
  std::filesystem::create_symlink(fake_path("12040"), folder.path("another-name.so"));
  const auto first = Driver::load({.library = fake_path("12040").c_str()});
  const auto again = Driver::load({.library = fake_path("12040").c_str()});
  const auto by_link = Driver::load({.library = folder.path("another-name.so").c_str()});
  ASSERT_TRUE(first && again && by_link);
  EXPECT_EQ(first.driver, again.driver);
  EXPECT_EQ(first.driver, by_link.driver);
}

TEST(Identity, Different_libraries_are_different_drivers_at_the_same_time) {
  const auto old = Driver::load({.library = fake_path("11020").c_str()});
  const auto recent = Driver::load({.library = fake_path("13000").c_str()});
  ASSERT_TRUE(old && recent);
  EXPECT_NE(old.driver, recent.driver);
  EXPECT_EQ(old->version(), 11020);
  EXPECT_EQ(recent->version(), 13000);
  EXPECT_EQ(old->name(), fake_path("11020"));
  EXPECT_EQ(recent->name(), fake_path("13000"));
}

TEST(Identity, Loading_a_library_leaves_the_current_and_the_default_driver_what_they_were) {
  const ScopedDriver scope(returning<1>());
  const auto loaded = Driver::load({.library = fake_path("13000").c_str()});
  ASSERT_TRUE(loaded);
  EXPECT_NE(loaded.driver, &Driver::by_default());
  EXPECT_EQ(&cushim::current_driver(), &returning<1>());
}

TEST(Identity, Threads_that_load_the_same_library_at_once_get_the_same_driver) {
  constexpr int kThreads = 8;
  const Folder folder;
  std::filesystem::copy_file(fake_path("13000"), folder.path("libfresh.so"));
  std::barrier start(kThreads);
  std::vector<Driver *> got(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      got[static_cast<std::size_t>(i)] = Driver::load({.library = folder.path("libfresh.so").c_str()}).driver;
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_NE(got[0], nullptr);
  EXPECT_THAT(got, testing::Each(got[0]));
}

}  // namespace
