// SPDX-License-Identifier: Apache-2.0
// Events that another process opens.
#include <cstring>

#include "ipc_events.hpp"

namespace conformance {
namespace {

// ---- In one process ----

STATEMENT(IpcEvents, Are_exported, driver().cuIpcGetEventHandle(&handle, event(kShared)), CUDA_SUCCESS)
STATEMENT(IpcEvents, That_block_are_exported,
          driver().cuIpcGetEventHandle(&handle, event(kShared | CU_EVENT_BLOCKING_SYNC)), CUDA_SUCCESS)
STATEMENT(IpcEvents, Exporting_needs_a_place, driver().cuIpcGetEventHandle(nullptr, event(kShared)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcEvents, Null_is_not_exported, driver().cuIpcGetEventHandle(&handle, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcEvents, Of_one_process_are_not_exported, driver().cuIpcGetEventHandle(&handle, event()),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(IpcEvents, That_are_timed_are_not_exported, driver().cuIpcGetEventHandle(&handle, event(0)),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(IpcEvents, Are_not_opened_by_their_own_process,
          driver().cuIpcOpenEventHandle(&event_out, exported(event(kShared))), CUDA_ERROR_INVALID_CONTEXT)
STATEMENT(IpcEvents, A_handle_of_zeros_is_not_opened,
          driver().cuIpcOpenEventHandle(&event_out, CUipcEventHandle{}), CUDA_ERROR_MAP_FAILED)
STATEMENT(IpcEvents, Opening_needs_a_place, driver().cuIpcOpenEventHandle(nullptr, exported(event(kShared))),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(IpcEvents, Are_not_exported_without_a_context) {
  const CUevent shared = event(kShared);
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuIpcGetEventHandle(&handle, shared), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(IpcEvents, Are_not_opened_without_a_context) {
  exported(event(kShared));
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuIpcOpenEventHandle(&event_out, handle), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(IpcEvents, Have_one_handle) {
  const CUevent shared = event(kShared);
  const CUipcEventHandle first = exported(shared), second = exported(shared);
  EXPECT_VALUE(std::memcmp(&first, &second, sizeof first) == 0, true);
}
TEST_F(IpcEvents, Have_different_handles) {
  const CUipcEventHandle first = exported(event(kShared)), second = exported(event(kShared));
  EXPECT_VALUE(std::memcmp(&first, &second, sizeof first) != 0, true);
}

// ---- In two processes ----

// Expects that the other process finds its event complete after the hold is released, and not before.
void expect_complete_after(Hold &held, Other &other) {
  EXPECT_ANSWER(other(Do::query), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(other(Do::synchronize), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::query), CUDA_SUCCESS);
}

TEST_F(IpcEvents, That_were_not_recorded_are_complete) {
  Other other;
  EXPECT_ANSWER(other.open(exported(event(kShared))), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::query), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::synchronize), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::wait), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::synchronize_stream), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::destroy), CUDA_SUCCESS);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Opened_are_not_timed) {
  Other other(exported(event(kShared)));
  EXPECT_ANSWER(other(Do::elapsed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Opened_are_not_exported_again) {
  Other other(exported(event(kShared)));
  EXPECT_ANSWER(other(Do::export_again), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Are_unfinished_on_the_other_side_too) {
  const CUevent shared = event(kShared);
  const CUstream work = stream();
  Other other;
  Hold held = hold_and_record(work, shared);
  EXPECT_ANSWER(other.open(exported(shared)), CUDA_SUCCESS);
  expect_complete_after(held, other);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Recorded_after_they_were_opened_are_unfinished) {
  const CUevent shared = event(kShared);
  const CUstream work = stream();
  Other other(exported(shared));
  for (int round = 0; round < 2; ++round) {
    Hold held = hold_and_record(work, shared);
    expect_complete_after(held, other);
  }
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Are_waited_for_by_streams_of_the_other_process) {
  const CUevent shared = event(kShared);
  const CUstream work = stream();
  Other other(exported(shared));
  Hold held = hold_and_record(work, shared);
  EXPECT_ANSWER(other(Do::wait), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::query_stream), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(other(Do::synchronize_stream), CUDA_SUCCESS);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Order_memory_between_processes) {
  const CUevent shared = event(kShared);
  const CUstream work = stream();
  const CUdeviceptr at = memory();
  CUipcMemHandle at_handle = {};
  NEED(driver().cuMemsetD8(at, 1, 4096));
  NEED(driver().cuCtxSynchronize());
  NEED(driver().cuIpcGetMemHandle(&at_handle, at));
  Other other(exported(shared));
  Hold held = hold(work);
  NEED(driver().cuMemsetD8Async(at, 42, 4096, work));
  NEED(driver().cuEventRecord(shared, work));
  NEED(other(Do::wait));
  held.release();
  EXPECT_VALUE(other.copied(at_handle), 42);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Are_recorded_by_the_other_process) {
  const CUevent shared = event(kShared);
  const CUstream waiting = stream();
  Other other(exported(shared));
  NEED(other(Do::hold));
  EXPECT_ANSWER(other(Do::record), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(shared), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuStreamWaitEvent(waiting, shared, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  NEED(other(Do::release));
  EXPECT_ANSWER(driver().cuEventSynchronize(shared), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(shared), CUDA_SUCCESS);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Are_opened_twice) {
  CUresult again = CUDA_SUCCESS;
  Other other(exported(event(kShared)));
  EXPECT_VALUE(other.is_another_when_opened_again(again), true);
  EXPECT_ANSWER(again, CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::destroy), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::query_again), CUDA_SUCCESS);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Work_on_after_their_maker_destroyed_them) {
  CUevent shared = nullptr;
  NEED(driver().cuEventCreate(&shared, kShared));
  Other other(exported(shared));
  EXPECT_ANSWER(driver().cuEventDestroy(shared), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::query), CUDA_SUCCESS);
  NEED(other(Do::hold));
  EXPECT_ANSWER(other(Do::record), CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::query), CUDA_ERROR_NOT_READY);
  NEED(other(Do::release));
  EXPECT_ANSWER(other(Do::synchronize), CUDA_SUCCESS);
  CUresult again = CUDA_SUCCESS;
  other.is_another_when_opened_again(again);
  EXPECT_ANSWER(again, CUDA_SUCCESS);
  EXPECT_ANSWER(other(Do::query_again), CUDA_SUCCESS);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Are_opened_after_their_maker_destroyed_them) {
  CUevent shared = nullptr;
  NEED(driver().cuEventCreate(&shared, kShared));
  exported(shared);
  NEED(driver().cuEventDestroy(shared));
  Other other;
  EXPECT_ANSWER(other.open(handle), CUDA_SUCCESS);
  EXPECT_EQ(other.end(), 0);
}

TEST_F(IpcEvents, Work_on_after_the_other_process_destroyed_its_own) {
  const CUevent shared = event(kShared);
  const CUstream work = stream();
  Other other(exported(shared));
  EXPECT_ANSWER(other(Do::destroy), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventRecord(shared, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(shared), CUDA_SUCCESS);
  EXPECT_EQ(other.end(), 0);
}

// ---- The end of a process ----

TEST_F(IpcEvents, Of_a_killed_process_are_opened) {
  Other other;
  handle = other.create();
  other.kill();
  EXPECT_ANSWER(driver().cuIpcOpenEventHandle(&event_out, handle), CUDA_SUCCESS);
}

TEST_F(IpcEvents, Work_on_after_their_maker_was_killed) {
  Other other;
  handle = other.create();
  EXPECT_ANSWER(driver().cuIpcOpenEventHandle(&event_out, handle), CUDA_SUCCESS);
  other.kill();
  EXPECT_ANSWER(driver().cuEventQuery(event_out), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventRecord(event_out, stream()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(event_out), CUDA_SUCCESS);
}

// The event never completes: a thread that waits for it waits forever.
TEST_F(IpcEvents, Whose_maker_was_killed_are_unfinished) {
  Other other;
  handle = other.create();
  NEED(driver().cuIpcOpenEventHandle(&event_out, handle));
  NEED(other(Do::hold));
  NEED(other(Do::record));
  EXPECT_ANSWER(driver().cuEventQuery(event_out), CUDA_ERROR_NOT_READY);
  other.kill();
  EXPECT_ANSWER(driver().cuEventQuery(event_out), CUDA_ERROR_NOT_READY);
}

}  // namespace
}  // namespace conformance
