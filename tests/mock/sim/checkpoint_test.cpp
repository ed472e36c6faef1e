// SPDX-License-Identifier: Apache-2.0
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

}  // namespace
}  // namespace cushim::sim

#endif
