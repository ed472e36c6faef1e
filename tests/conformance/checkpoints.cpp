// SPDX-License-Identifier: Apache-2.0
// Checkpoints of processes. The processes that a statement locks are its own.
#include <unistd.h>

#include "conformance.hpp"

#if CUDA_VERSION >= 12080

namespace conformance {
namespace {

class Checkpoints : public Initialized {
 public:
  // Locks this process. Calls of the driver about anything else may then wait.
  CUresult lock() { return driver().cuCheckpointProcessLock(getpid(), nullptr); }
  CUresult unlock() { return driver().cuCheckpointProcessUnlock(getpid(), nullptr); }

  CUprocessState state = static_cast<CUprocessState>(77);
  int thread = 77;
};

TEST_F(Checkpoints, Of_this_process_were_not_made) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(getpid(), &state), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(state), int{CU_PROCESS_STATE_RUNNING});
  EXPECT_ANSWER(driver().cuCheckpointProcessGetRestoreThreadId(getpid(), &thread), CUDA_SUCCESS);
  RECORD_VALUE(thread == getpid());
}
TEST_F(Checkpoints, Need_a_place_for_the_state) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(getpid(), nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetRestoreThreadId(getpid(), nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Checkpoints, Of_no_process) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(0, &state), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(-1, &state), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(4194303, &state), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetRestoreThreadId(4194303, &thread),
                CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuCheckpointProcessLock(4194303, nullptr), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuCheckpointProcessUnlock(4194303, nullptr), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuCheckpointProcessCheckpoint(4194303, nullptr), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuCheckpointProcessRestore(4194303, nullptr), CUDA_ERROR_OPERATING_SYSTEM);
}
TEST_F(Checkpoints, Of_a_process_without_the_driver) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(1, &state), CUDA_ERROR_NOT_INITIALIZED);
}
TEST_F(Checkpoints, Are_not_made_of_a_running_process) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuCheckpointProcessCheckpoint(getpid(), nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_ANSWER(driver().cuCheckpointProcessRestore(getpid(), nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_ANSWER(unlock(), CUDA_ERROR_ILLEGAL_STATE);
}
TEST_F(Checkpoints, Lock_this_process) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  alarm(20);
  EXPECT_ANSWER(lock(), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(getpid(), &state), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(state), int{CU_PROCESS_STATE_LOCKED});
  EXPECT_ANSWER(lock(), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_ANSWER(unlock(), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(getpid(), &state), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(state), int{CU_PROCESS_STATE_RUNNING});
}
TEST_F(Checkpoints, Keep_the_memory_of_this_process) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  alarm(30);
  make_context();
  CUdeviceptr memory = 0;
  NEED(driver().cuMemAlloc(&memory, 4));
  NEED(driver().cuMemsetD32(memory, 5, 1));
  NEED(driver().cuCtxSynchronize());
  EXPECT_ANSWER(lock(), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCheckpointProcessCheckpoint(getpid(), nullptr), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(getpid(), &state), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(state), int{CU_PROCESS_STATE_CHECKPOINTED});
  EXPECT_ANSWER(unlock(), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_ANSWER(driver().cuCheckpointProcessRestore(getpid(), nullptr), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCheckpointProcessGetState(getpid(), &state), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(state), int{CU_PROCESS_STATE_LOCKED});
  EXPECT_ANSWER(unlock(), CUDA_SUCCESS);
  unsigned word = 0;
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&word, memory, sizeof word), CUDA_SUCCESS);
  EXPECT_VALUE(word, 5u);
}
TEST_F(Checkpoints, With_reserved_words) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  alarm(20);
  CUcheckpointLockArgs arguments{};
  arguments.reserved0 = 1;
  EXPECT_ANSWER(driver().cuCheckpointProcessLock(getpid(), &arguments), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

#endif
