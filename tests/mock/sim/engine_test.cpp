// SPDX-License-Identifier: Apache-2.0
// The engine alone: how many examinations it makes per operation, whatever is pending. Counts, not times.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "memory/memory.hpp"
#include "support/schedules.hpp"

namespace cushim::sim {
namespace {

// A condition that holds if a word is not zero, like a stream's wait for a value.
class IsSet final : public Condition {
 public:
  explicit IsSet(const std::atomic<int> &word) : Condition(ChangedBy::anyone), word_(word) {}
  bool holds() const override { return word_ != 0; }
  std::string to_text() const override { return "a word"; }

 private:
  const std::atomic<int> &word_;
};

struct Streams {
  explicit Streams(Schedule schedule, std::size_t count = 1) : options{.schedule = schedule}, tails(count) {}

  // Adds the operation at the end of a stream.
  Work submit(std::size_t stream, Operation operation = {}) {
    operation.stream = stream + 1;
    operation.come_after(tails[stream]);
    tails[stream] = engine.add(std::move(operation));
    engine.start(lock, tails[stream]);
    return tails[stream];
  }
  void wait_for(std::size_t stream, const Work &work) {
    Operation operation;
    operation.come_after(work);
    submit(stream, std::move(operation));
  }
  Work hold(std::size_t stream, const std::atomic<int> &word) {
    return submit(stream, {.condition = std::make_unique<IsSet>(word)});
  }
  bool query(std::size_t stream) { return engine.query(lock, std::span(&tails[stream], 1)); }
  bool drain() { return engine.wait(lock, tails, "a test"); }

  Options options;
  mock::Mutex mutex;
  Engine engine{mutex, options};
  Engine::Lock lock{mutex};
  std::vector<Work> tails;
};

// The background thread runs only while its lock is released, which these tests do not do.
class EngineIn : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(, EngineIn,
                         ::testing::Values(Schedule::eager, Schedule::deferred, Schedule::seeded,
                                           Schedule::stepped),
                         ScheduleName());

constexpr unsigned long kConstant = 8;  // maximum number of examinations per operation

TEST_P(EngineIn, Drains_any_number_of_records_and_waits_and_examines_a_constant_number_of_tasks_for_each) {
  constexpr std::size_t kStreams = 64;
  for (const unsigned long count : {1'000UL, 100'000UL}) {
    Streams streams(GetParam(), kStreams);
    for (std::size_t i = 0; i < count / 2; ++i)
      streams.wait_for((i * 7 + 1) % kStreams, streams.submit(i % kStreams));
    EXPECT_TRUE(streams.drain());
    EXPECT_EQ(streams.engine.unfinished(), 0u);
    EXPECT_LE(streams.engine.examined(), kConstant * count) << count;
  }
}

TEST_P(EngineIn, Examines_a_constant_number_of_tasks_for_a_query_of_any_number_of_held_operations) {
  for (const std::size_t count : {10UL, 100'000UL}) {
    Streams streams(GetParam(), 2);
    std::atomic<int> word{0};
    streams.hold(0, word);
    for (std::size_t i = 0; i < count; ++i) streams.submit(0);
    streams.wait_for(1, streams.tails[0]);
    const unsigned long before = streams.engine.examined();
    constexpr unsigned long kQueries = 1000;
    for (unsigned long i = 0; i < kQueries; ++i) EXPECT_FALSE(streams.query(1));
    EXPECT_LE(streams.engine.examined() - before, kConstant * kQueries) << count;
    word = 1;
    EXPECT_TRUE(streams.drain());
  }
}

TEST_P(EngineIn, Examines_a_bounded_number_of_tasks_beside_any_number_of_streams_that_wait_for_memory) {
  constexpr std::size_t kHeld = 10'000;
  Streams streams(GetParam(), kHeld + 1);
  std::atomic<int> word{0};
  for (std::size_t i = 0; i < kHeld; ++i) streams.hold(i, word);
  const unsigned long before = streams.engine.examined();
  constexpr unsigned long kRounds = 100, kLooks = 100;
  for (unsigned long i = 0; i < kRounds; ++i) {
    streams.submit(kHeld);
    EXPECT_TRUE(streams.engine.wait(streams.lock, std::span(&streams.tails[kHeld], 1), "a test"));
  }
  EXPECT_LE(streams.engine.examined() - before, kLooks * kRounds);
  word = 1;
  EXPECT_TRUE(streams.drain());
}

TEST_P(EngineIn, Sees_at_a_query_that_the_last_of_many_waits_for_memory_is_over) {
  if (GetParam() == Schedule::stepped) GTEST_SKIP() << "runs when the test says so";
  constexpr std::size_t kHeld = 1'000;
  Streams streams(GetParam(), kHeld + 1);
  std::atomic<int> never{0}, word{0};
  for (std::size_t i = 0; i < kHeld; ++i) streams.hold(i, never);
  const Work held = streams.hold(kHeld, word);
  EXPECT_FALSE(streams.query(kHeld));
  word = 1;
  streams.query(kHeld);
  EXPECT_TRUE(held->is_complete());
  never = 1;
  EXPECT_TRUE(streams.drain());
}

TEST_P(EngineIn, A_chain_of_a_million_operations_ends_without_recursion) {
  std::atomic<int> word{0};
  for (const bool is_run : {true, false}) {
    Streams streams(GetParam());
    streams.hold(0, word);
    for (int i = 0; i < 1'000'000; ++i) streams.submit(0);
    word = is_run;
    EXPECT_TRUE(!is_run || streams.drain());
    word = 0;
  }
}

TEST_P(EngineIn, Abandons_the_held_operations_of_an_owner_and_runs_those_of_others) {
  const int owner = 0;
  Streams streams(GetParam(), 2);
  std::atomic<int> word{0};
  const Work held = streams.submit(0, {.owner = &owner, .condition = std::make_unique<IsSet>(word)});
  const Work last = streams.submit(0, {.owner = &owner, .run = [] { FAIL() << "abandoned work ran"; }});
  streams.wait_for(1, last);
  streams.engine.abandon(&owner, std::span(&streams.tails[0], 1), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(held->fault, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(last->is_complete());
  EXPECT_TRUE(streams.drain());
  EXPECT_EQ(streams.tails[1]->fault, CUDA_SUCCESS);
}

TEST(EngineOrder, Is_that_of_submission_for_deferred_work_that_is_waited_for) {
  Streams streams(Schedule::deferred, 3);
  std::string order;
  const auto note = [&order](char name) { return Operation{.run = [&order, name] { order += name; }}; };
  const Work a = streams.submit(0, note('a'));
  streams.submit(1, note('b'));
  streams.submit(2, note('c'));
  streams.wait_for(1, a);
  streams.submit(1, note('d'));
  EXPECT_TRUE(streams.engine.wait(streams.lock, std::span(&streams.tails[1], 1), "a test"));
  EXPECT_EQ(order, "abd");
}

TEST(EngineOrder, Of_a_seed_is_the_same_in_every_run) {
  const auto run = [] {
    Streams streams(Schedule::seeded, 8);
    std::string order;
    for (std::size_t i = 0; i < 200; ++i)
      streams.submit(i % 8, {.run = [&order, i] { order += static_cast<char>('a' + i % 8); }});
    streams.drain();
    return order;
  };
  EXPECT_EQ(run(), run());
}

TEST(EngineConditions, That_become_false_before_their_operation_runs_hold_it_again) {
  Streams streams(Schedule::stepped, 2);
  std::atomic<int> word{0};
  const Work first = streams.hold(0, word), second = streams.hold(1, word);
  word = 1;
  EXPECT_TRUE(streams.engine.step(streams.lock));
  EXPECT_TRUE(first->is_complete());
  word = 0;
  EXPECT_FALSE(streams.engine.step(streams.lock));
  EXPECT_FALSE(second->is_complete());
  word = 1;
  EXPECT_TRUE(streams.engine.step(streams.lock));
}

void use(Allocation &allocation, const Work &work) {
  allocation.reserve_user();
  allocation.add_user(work);
}

TEST(UsersOfMemory, Of_one_stream_are_its_last_operation) {
  Streams streams(Schedule::stepped);
  Allocation allocation;
  for (int i = 0; i < 1000; ++i) use(allocation, streams.submit(0));
  EXPECT_EQ(allocation.users.size(), 1u);
}

TEST(UsersOfMemory, Of_many_streams_are_a_few_operations_of_each_with_its_last_one) {
  constexpr std::size_t kStreams = 64;
  Streams streams(Schedule::stepped, kStreams);
  Allocation allocation;
  for (std::size_t i = 0; i < 1000 * kStreams; ++i) use(allocation, streams.submit(i % kStreams));
  EXPECT_LE(allocation.users.size(), 4 * kStreams);
  for (const Work &last : streams.tails)
    EXPECT_NE(std::ranges::find(allocation.users, last), allocation.users.end());
}

TEST(UsersOfMemory, That_are_complete_are_removed) {
  Streams streams(Schedule::eager, 100);
  Allocation allocation;
  std::atomic<int> word{0};
  for (std::size_t i = 0; i < 50; ++i) use(allocation, streams.hold(i, word));
  for (std::size_t i = 0; i < 1000; ++i) use(allocation, streams.submit(99));
  EXPECT_LE(allocation.users.size(), 51u);
  word = 1;
  EXPECT_TRUE(streams.drain());
  use(allocation, streams.submit(99));
  EXPECT_EQ(allocation.users.size(), 1u);
}

}  // namespace
}  // namespace cushim::sim
