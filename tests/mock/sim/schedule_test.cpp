// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <set>
#include <thread>

#include "support/machine_fixture.hpp"
#include "support/schedules.hpp"

namespace cushim::sim {
namespace {

// A word that is 1, a stream that will write 2 to it, and a stream that will copy it.
struct WriterAndReader {
  explicit WriterAndReader(const Options &options) : running(options) {
    need(driver().cuMemsetD32(memory, 1, 1));
    need(driver().cuCtxSynchronize());
    writer = running.stream();
    reader = running.stream();
  }
  void write() const { need(driver().cuMemsetD32Async(memory, 2, 1, writer)); }
  void read() const { need(driver().cuMemcpyDtoDAsync(copy, memory, 4, reader)); }

  const Running running;
  const CUdeviceptr memory = running.memory(), copy = running.memory();
  CUstream writer = nullptr, reader = nullptr;
};

// Returns the value that the reader copies without an order between the streams.
std::uint32_t found_without_an_order(const Options &options) {
  const WriterAndReader streams(options);
  streams.write();
  streams.read();
  need(driver().cuCtxSynchronize());
  return word_at(streams.copy);
}

// Returns the value that the reader copies after it has waited for the writer's event.
std::uint32_t found_with_an_order(const Options &options) {
  const WriterAndReader streams(options);
  const CUevent written = streams.running.event();
  streams.write();
  need(driver().cuEventRecord(written, streams.writer));
  need(driver().cuStreamWaitEvent(streams.reader, written, 0));
  streams.read();
  need(driver().cuStreamSynchronize(streams.reader));
  return word_at(streams.copy);
}

class EachSchedule : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(, EachSchedule, ::testing::ValuesIn(kEachSchedule), ScheduleName());

TEST_P(EachSchedule, Keeps_the_order_that_an_event_asks_for) {
  EXPECT_EQ(found_with_an_order({.schedule = GetParam()}), 2u);
}

TEST_P(EachSchedule, Keeps_the_order_between_the_legacy_stream_and_blocking_ones) {
  const Running running({.schedule = GetParam()});
  const CUdeviceptr memory = running.memory();
  const CUstream blocking = running.stream(CU_STREAM_DEFAULT);
  need(driver().cuMemsetD32Async(memory, 1, 1, blocking));
  need(driver().cuMemsetD32Async(memory, 2, 1, CU_STREAM_LEGACY));
  need(driver().cuMemsetD32Async(memory, 3, 1, blocking));
  EXPECT_EQ(word_at(memory), 3u);
}

TEST_P(EachSchedule, Ends_a_loop_that_asks_until_an_event_is_complete) {
  if (GetParam() == Schedule::stepped) GTEST_SKIP() << "runs when the test says so";
  const Running running({.schedule = GetParam()});
  const CUstream stream = running.stream();
  const CUevent event = running.event();
  need(driver().cuMemsetD32Async(running.memory(), 1, 1, stream));
  need(driver().cuEventRecord(event, stream));
  CUresult answer = CUDA_ERROR_NOT_READY;
  while (answer == CUDA_ERROR_NOT_READY) answer = driver().cuEventQuery(event);
  EXPECT_EQ(answer, CUDA_SUCCESS);
}

TEST_P(EachSchedule, Waits_for_a_value_that_another_thread_of_the_program_writes) {
  const Running running({.schedule = GetParam()});
  std::uint32_t *const word = running.pinned();
  const CUstream stream = running.stream();
  const CUdeviceptr memory = running.memory();
  need(driver().cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_EQ));
  need(driver().cuMemsetD32Async(memory, 5, 1, stream));
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  std::thread other([word] { std::atomic_ref(*word).store(1); });
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  other.join();
  EXPECT_EQ(word_at(memory), 5u);
}

TEST_P(EachSchedule, Runs_one_host_function_after_another_that_was_held_back_before_it) {
  const Running running({.schedule = GetParam()});
  void *host = nullptr;
  need(driver().cuMemHostAlloc(&host, 4096, 0));
  auto *word = static_cast<std::uint32_t *>(host);
  const auto address = reinterpret_cast<CUdeviceptr>(host);
  const CUstream stream = running.stream();
  std::atomic<int> count = 0;
  need(driver().cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_EQ));
  for (int i = 0; i < 3; ++i)
    need(driver().cuLaunchHostFunc(
        stream, [](void *data) { ++*static_cast<std::atomic<int> *>(data); }, &count));
  EXPECT_EQ(count, 0);
  std::atomic_ref<std::uint32_t>{*word}.store(1);
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(count, 3);
}

TEST_P(EachSchedule, Runs_host_functions_in_stream_order_and_refuses_calls_in_them) {
  const Running running({.schedule = GetParam()});
  const CUstream stream = running.stream();
  struct Seen {
    CUresult allocated = CUDA_SUCCESS;
    int order = 0;
  } seen;
  need(driver().cuLaunchHostFunc(
      stream,
      [](void *data) {
        CUdeviceptr memory = 0;
        static_cast<Seen *>(data)->allocated = driver().cuMemAlloc(&memory, 1);
        static_cast<Seen *>(data)->order = 1;
      },
      &seen));
  need(driver().cuLaunchHostFunc(
      stream, [](void *data) { static_cast<Seen *>(data)->order *= 10; }, &seen));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(seen.allocated, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(seen.order, 10);
}

TEST(Schedules, A_missing_order_is_visible_when_a_call_waits_for_deferred_work) {
  const Running running({.schedule = Schedule::deferred});
  const CUdeviceptr memory = running.memory(), copy = running.memory();
  need(driver().cuMemsetD32(memory, 1, 1));
  need(driver().cuCtxSynchronize());
  const CUstream writer = running.stream(), reader = running.stream();
  need(driver().cuMemsetD32Async(memory, 2, 1, writer));
  need(driver().cuMemcpyDtoDAsync(copy, memory, 4, reader));
  need(driver().cuStreamSynchronize(reader));
  EXPECT_EQ(word_at(copy), 1u) << "the writer has not been waited for";
}

TEST(Schedules, A_missing_order_is_visible_under_the_same_seeds_in_each_run) {
  std::vector<std::uint32_t> first, again;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    first.push_back(found_without_an_order({.schedule = Schedule::seeded, .seed = seed}));
    again.push_back(found_without_an_order({.schedule = Schedule::seeded, .seed = seed}));
  }
  EXPECT_EQ(first, again);
  EXPECT_EQ(std::set<std::uint32_t>(first.begin(), first.end()), (std::set<std::uint32_t>{1, 2}));
}

TEST(Schedules, No_seed_breaks_an_order_that_is_there) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    EXPECT_EQ(found_with_an_order({.schedule = Schedule::seeded, .seed = seed}), 2u) << "seed " << seed;
}

TEST(Schedules, Stepped_work_runs_one_operation_a_step) {
  Running running({.schedule = Schedule::stepped});
  const CUstream stream = running.stream();
  const CUdeviceptr memory = running.memory();
  need(driver().cuMemsetD32Async(memory, 1, 1, stream));
  need(driver().cuMemsetD32Async(memory, 2, 1, stream));
  EXPECT_EQ(running.machine.unfinished(), 2u);
  EXPECT_TRUE(running.machine.step());
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_TRUE(running.machine.step());
  EXPECT_FALSE(running.machine.step());
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_SUCCESS);
}

TEST(Schedules, Are_called_by_their_names) {
  EXPECT_EQ(schedule("background"), Schedule::background);
  EXPECT_THROW(schedule("lazy"), std::invalid_argument);
}

}  // namespace
}  // namespace cushim::sim
