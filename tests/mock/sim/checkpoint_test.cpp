// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/machine_fixture.hpp"

#if CUDA_VERSION >= 12080

namespace cushim::sim {
namespace {

TEST(Checkpoints, Hold_calls_of_other_threads_until_the_process_is_unlocked) {
  const Running running;
  need(driver().cuCheckpointProcessLock(getpid(), nullptr));
  std::atomic<bool> is_unlocked{false};
  CUresult code = CUDA_ERROR_UNKNOWN;
  bool was_unlocked = false;
  std::thread caller([&] {
    int count = 0;
    code = driver().cuDeviceGetCount(&count);
    was_unlocked = is_unlocked;
  });
  need(driver().cuCheckpointProcessCheckpoint(getpid(), nullptr));
  need(driver().cuCheckpointProcessRestore(getpid(), nullptr));
  is_unlocked = true;
  need(driver().cuCheckpointProcessUnlock(getpid(), nullptr));
  caller.join();
  EXPECT_EQ(code, CUDA_SUCCESS);
  EXPECT_TRUE(was_unlocked);
}

TEST(Checkpoints, Hold_no_calls_of_a_child_of_fork) {
  const Running running;
  need(driver().cuCheckpointProcessLock(getpid(), nullptr));
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    int count = 0;
    _exit(driver().cuDeviceGetCount(&count));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), int{CUDA_ERROR_NOT_INITIALIZED});
  need(driver().cuCheckpointProcessUnlock(getpid(), nullptr));
}

}  // namespace
}  // namespace cushim::sim

#endif
