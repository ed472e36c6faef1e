// SPDX-License-Identifier: Apache-2.0
// The ordering that streams and events guarantee, and that they do not, in each schedule.
#include <set>

#include "support/machine_fixture.hpp"
#include "support/schedules.hpp"

namespace cushim::sim {
namespace {

class OrderIn : public ::testing::TestWithParam<Schedule> {
 protected:
  // Expects that the work of a stream is not complete before the gate opens.
  static void expect_wait(CUstream stream, Gate &gate) {
    EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  }
  // The same for the work that an event captured.
  static void expect_wait(CUevent event, Gate &gate) {
    EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_NOT_READY);
    gate.open();
    EXPECT_EQ(driver().cuEventSynchronize(event), CUDA_SUCCESS);
  }

  Running running{{.schedule = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(, OrderIn, ::testing::ValuesIn(kSchedulesWithoutSteps), ScheduleName());

TEST_P(OrderIn, A_wait_keeps_the_record_that_it_was_made_for) {
  const CUstream held = running.stream(), waiting = running.stream(), idle = running.stream();
  const CUevent event = running.event();
  Gate gate = running.machine.gate(held);
  need(driver().cuEventRecord(event, held));
  need(driver().cuStreamWaitEvent(waiting, event, 0));
  need(driver().cuEventRecord(event, idle));
  EXPECT_EQ(driver().cuEventSynchronize(event), CUDA_SUCCESS) << "the event is of the idle stream now";
  expect_wait(waiting, gate);
}

TEST_P(OrderIn, An_event_captures_the_work_before_its_record_and_none_after) {
  const CUstream stream = running.stream();
  const CUevent event = running.event();
  need(driver().cuEventRecord(event, stream));
  const Gate gate = running.machine.gate(stream);
  EXPECT_EQ(driver().cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

TEST_P(OrderIn, A_wait_for_a_busy_event_continues_after_its_destruction) {
  const CUstream held = running.stream(), waiting = running.stream();
  const CUevent event = running.event();
  Gate gate = running.machine.gate(held);
  need(driver().cuEventRecord(event, held));
  need(driver().cuStreamWaitEvent(waiting, event, 0));
  EXPECT_EQ(driver().cuEventDestroy(event), CUDA_SUCCESS);
  expect_wait(waiting, gate);
}

TEST_P(OrderIn, The_work_of_a_busy_stream_that_is_destroyed_is_done) {
  const CUstream stream = running.stream(CU_STREAM_DEFAULT);
  const CUdeviceptr memory = running.memory();
  Gate gate = running.machine.gate(stream);
  need(driver().cuMemsetD32Async(memory, 9, 1, stream));
  EXPECT_EQ(driver().cuStreamDestroy(stream), CUDA_SUCCESS) << "returns at once";
  EXPECT_EQ(driver().cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY) << "which still waits for it";
  gate.open();
  EXPECT_EQ(word_at(memory), 9u);
}

TEST_P(OrderIn, The_work_of_a_busy_context_that_is_ended_is_done) {
  std::vector<std::uint32_t> words(1024);
  need(driver().cuMemHostRegister(words.data(), words.size() * sizeof words[0], 0));
  CUdeviceptr address = 0;
  need(driver().cuMemHostGetDevicePointer(&address, words.data(), 0));
  need(driver().cuMemsetD32Async(address, 4, words.size(), running.stream()));
  EXPECT_EQ(driver().cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(words, std::vector<std::uint32_t>(words.size(), 4));
}

// ---- Operations that leave a blocking stream idle behind a busy legacy stream; recorded on an H200 ----

TEST_P(OrderIn, An_event_without_time_leaves_an_idle_stream_idle_and_waits_for_the_legacy_stream) {
  const CUstream stream = running.stream(CU_STREAM_DEFAULT);
  const CUevent event = running.event(CU_EVENT_DISABLE_TIMING);
  Gate gate = running.machine.gate(CU_STREAM_LEGACY);
  need(driver().cuEventRecord(event, stream));
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_SUCCESS);
  expect_wait(event, gate);
}

TEST_P(OrderIn, An_event_with_time_makes_an_idle_stream_wait_for_the_legacy_stream) {
  const CUstream stream = running.stream(CU_STREAM_DEFAULT);
  const Gate gate = running.machine.gate(CU_STREAM_LEGACY);
  for (const unsigned flags :
       {0U, unsigned{CU_EVENT_BLOCKING_SYNC}, unsigned{CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING},
        unsigned{CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS}}) {
    need(driver().cuEventRecord(running.event(flags), stream));
    EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY) << flags;
  }
}

TEST_P(OrderIn, An_event_without_time_is_complete_when_its_stream_has_been_synchronized) {
  const CUstream stream = running.stream(CU_STREAM_DEFAULT);
  const CUevent event = running.event(CU_EVENT_DISABLE_TIMING);
  need(driver().cuEventRecord(event, stream));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_SUCCESS);
}

TEST_P(OrderIn, A_wait_for_a_complete_event_leaves_an_idle_stream_idle) {
  const CUstream stream = running.stream(CU_STREAM_DEFAULT), other = running.stream();
  const CUevent event = running.event();
  need(driver().cuEventRecord(event, other));
  need(driver().cuStreamSynchronize(other));
  const Gate gate = running.machine.gate(CU_STREAM_LEGACY);
  need(driver().cuStreamWaitEvent(stream, event, 0));
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_SUCCESS);
}

TEST_P(OrderIn, An_empty_batch_makes_an_idle_stream_wait_for_the_legacy_stream) {
  const CUstream stream = running.stream(CU_STREAM_DEFAULT);
  const Gate gate = running.machine.gate(CU_STREAM_LEGACY);
  CUstreamBatchMemOpParams none{};
  need(driver().cuStreamBatchMemOp(stream, 0, &none, 0));
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

TEST_P(OrderIn, Records_of_an_interprocess_event_come_one_after_the_other) {
  const CUstream held = running.stream(), idle = running.stream();
  const CUevent event = running.event(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  Gate gate = running.machine.gate(held);
  need(driver().cuEventRecord(event, held));
  need(driver().cuEventRecord(event, idle));
  EXPECT_EQ(driver().cuEventQuery(event), CUDA_ERROR_NOT_READY);
  expect_wait(idle, gate);
}

TEST_P(OrderIn, The_legacy_stream_waits_for_the_one_of_the_context_whose_memory_it_copies) {
  const CUdeviceptr memory = running.memory(), bystander = running.memory();
  Gate gate = running.machine.gate(CU_STREAM_LEGACY);
  CUcontext other = nullptr;
  need(driver().cuCtxCreate_v2(&other, 0, 0));
  need(driver().cuMemsetD8Async(bystander, 1, 16, CU_STREAM_LEGACY));
  need(driver().cuStreamSynchronize(CU_STREAM_LEGACY));
  need(driver().cuMemcpyDtoDAsync(memory + 64, memory, 16, CU_STREAM_LEGACY));
  expect_wait(CU_STREAM_LEGACY, gate);
}

TEST(Order, Priorities_are_a_hint) {
  std::set<std::uint32_t> found;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Running running({.schedule = Schedule::seeded, .seed = seed});
    const CUdeviceptr memory = running.memory();
    CUstream low = nullptr, high = nullptr;
    need(driver().cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, 0));
    need(driver().cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, -5));
    need(driver().cuMemsetD32Async(memory, 1, 1, low));
    need(driver().cuMemsetD32Async(memory, 2, 1, high));
    need(driver().cuCtxSynchronize());
    found.insert(word_at(memory));
  }
  EXPECT_EQ(found, (std::set<std::uint32_t>{1, 2})) << "either stream may be last";
}

}  // namespace
}  // namespace cushim::sim
