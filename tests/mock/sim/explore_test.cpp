// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest-spi.h>
#include <cushim/sim/gtest.hpp>

#include "support/machine_fixture.hpp"
#include "support/schedules.hpp"

namespace cushim::sim {
namespace {

CUstream named_stream(Machine &machine, const char *name) {
  CUstream made = nullptr;
  need(driver().cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  machine.name(made, name);
  return made;
}

// Returns the value that a reader finds when a writer writes 2, with or without an event between them.
std::uint32_t handed_over(Machine &machine, bool waits) {
  use_first_device();
  const CUstream writer = named_stream(machine, "writer"), reader = named_stream(machine, "reader");
  CUevent written = nullptr;
  CUdeviceptr memory = 0, copy = 0;
  need(driver().cuMemAlloc(&memory, 4));
  need(driver().cuMemAlloc(&copy, 4));
  need(driver().cuEventCreate(&written, CU_EVENT_DEFAULT));
  need(driver().cuMemsetD32Async(memory, 2, 1, writer));
  need(driver().cuEventRecord(written, writer));
  if (waits) need(driver().cuStreamWaitEvent(reader, written, 0));
  need(driver().cuMemcpyDtoDAsync(copy, memory, 4, reader));
  need(driver().cuStreamSynchronize(reader));
  return word_at(copy);
}

TEST(Explore, Finds_the_wait_that_was_forgotten_and_prints_the_order) {
  ::testing::internal::CaptureStderr();
  const auto failing = explore(20, [](Machine &machine) { return handed_over(machine, false) == 2; });
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(failing);
  EXPECT_NE(said.find(failing->text()), said.npos);
  EXPECT_NE(failing->order.find("(reader): cuMemcpyDtoDAsync_v2"), std::string::npos) << failing->order;
  EXPECT_NE(failing->order.find("(writer): cuMemsetD32Async"), std::string::npos) << failing->order;
  EXPECT_LT(failing->order.find("(reader): cuMemcpyDtoDAsync_v2"), failing->order.find("(writer)"))
      << "the reader is before the writer, or the run would not have failed";
}

TEST(Explore, Fails_again_alone_with_the_options_that_it_names) {
  ::testing::internal::CaptureStderr();
  const auto failing = explore(
      20, [](Machine &machine) { return machine.order().empty() && handed_over(machine, false) == 2; });
  ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(failing);
  Machine machine(failing->options);
  const ScopedDriver scope(machine.driver());
  EXPECT_NE(handed_over(machine, false), 2u);
  EXPECT_EQ(machine.order(), failing->order);
}

TEST(Explore, Runs_each_seed_once_and_finds_nothing_where_nothing_is_missing) {
  int runs = 0;
  EXPECT_FALSE(explore(50, [&](Machine &machine) {
    ++runs;
    return handed_over(machine, true) == 2;
  }));
  EXPECT_EQ(runs, 52) << "eager, deferred and 50 seeds";
}

TEST(Explore, Reports_the_exception_of_the_body) {
  ::testing::internal::CaptureStderr();
  const auto failing = explore(1, [](Machine &) -> bool { throw std::runtime_error("no frame came"); });
  ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing->options.schedule, Schedule::eager);
  EXPECT_NE(failing->text().find("no frame came"), std::string::npos);
}

TEST(Explore, Judges_a_run_of_a_GoogleTest_test_by_its_assertions) {
  explore(5, [](Machine &machine) { EXPECT_EQ(handed_over(machine, true), 2u); });
  EXPECT_FALSE(::testing::Test::HasFailure());
  EXPECT_NONFATAL_FAILURE(explore(5, [](Machine &machine) { machine.gate(nullptr); }),
                          "the stream is not valid");
}

// ---- Gates ----

class GateIn : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(, GateIn, ::testing::ValuesIn(kEachSchedule), ScheduleName());

TEST_P(GateIn, Holds_a_stream_and_no_other_until_the_test_opens_it) {
  Running running({.schedule = GetParam()});
  const CUstream held = running.stream(), other = running.stream();
  const CUdeviceptr memory = running.memory();
  need(driver().cuMemsetD32(memory, 1, 2));
  need(driver().cuCtxSynchronize());
  Gate gate = running.machine.gate(held);
  need(driver().cuMemsetD32Async(memory, 2, 1, held));
  need(driver().cuMemsetD32Async(memory + 4, 2, 1, other));
  EXPECT_EQ(driver().cuStreamSynchronize(other), CUDA_SUCCESS);
  running.machine.run();
  EXPECT_EQ(driver().cuStreamQuery(held), CUDA_ERROR_NOT_READY);
  EXPECT_NE(running.machine.order().find("gate waits for the test to open it"), std::string::npos)
      << running.machine.order();
  gate.open();
  EXPECT_EQ(driver().cuStreamSynchronize(held), CUDA_SUCCESS);
  EXPECT_EQ(word_at(memory), 2u);
}

TEST(Gates, Open_when_they_are_destroyed) {
  Running running({.schedule = Schedule::deferred});
  const CUstream stream = running.stream();
  { const Gate gate = running.machine.gate(stream); }
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST(Gates, Need_a_stream) {
  Running running;
  ::testing::internal::CaptureStderr();
  EXPECT_THROW(running.machine.gate(reinterpret_cast<CUstream>(0xdead0)), std::invalid_argument);
  EXPECT_THROW(running.machine.name(reinterpret_cast<CUstream>(0xdead0), "none"), std::invalid_argument);
  ::testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace cushim::sim
