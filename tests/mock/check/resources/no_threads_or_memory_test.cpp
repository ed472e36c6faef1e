// SPDX-License-Identifier: Apache-2.0
// Checkers for which the system has no thread or no memory left: the calls of the program have the results
// that they have without checkers.
#include <cushim/check/deadlock.hpp>
#include <cushim/check/leaks.hpp>
#include <cushim/check/misuse.hpp>
#include <cushim/sim/machine.hpp>

#include <atomic>

#include "support/machine_fixture.hpp"
#include "support/resource_limits.hpp"

namespace cushim::check {
namespace {

using sim::Running;

[[noreturn]] void wait_in_a_stream_without_threads() {
  const Running running;
  const CUstream stream = running.stream();
  std::uint32_t *const word = running.pinned();
  *word = 0;
  const Deadlock checker(driver());
  test::forbid_threads();
  const auto address = reinterpret_cast<CUdeviceptr>(word);
  EXPECT_THAT_EXITS(driver().cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_GEQ) ==
                    CUDA_SUCCESS);
  EXPECT_THAT_EXITS(driver().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  std::atomic_ref(*word).store(1);
  EXPECT_THAT_EXITS(driver().cuStreamSynchronize(stream) == CUDA_SUCCESS);
  _exit(0);
}

TEST(CheckersDeathTest, Without_threads_change_no_result) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(wait_in_a_stream_without_threads(), test::has_passed_without_threads,
              "no thread left for a checker; findings may be missing|^$");
}

template <class Checker>
[[noreturn]] void create_events_without_memory() {
  const Running running;
  const Checker checker(driver());
  CUevent event = nullptr;
  EXPECT_THAT_EXITS(driver().cuEventCreate(&event, 0) == CUDA_SUCCESS);
  test::limit_address_space(4 << 20);
  CUresult result = CUDA_SUCCESS;
  while (result == CUDA_SUCCESS) result = driver().cuEventCreate(&event, 0);
  EXPECT_THAT_EXITS(result == CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT_EXITS(driver().cuEventQuery(event) == CUDA_SUCCESS);
  EXPECT_THAT_EXITS(driver().cuEventDestroy(event) == CUDA_SUCCESS);
  _exit(0);
}

TEST(CheckersDeathTest, Without_memory_change_no_result) {
  if (sim::kIsSanitized) GTEST_SKIP() << "sanitizers need address space without a limit";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char *const reported = "no memory left for a checker; findings may be missing";
  EXPECT_EXIT(create_events_without_memory<Leaks>(), ::testing::ExitedWithCode(0), reported);
  EXPECT_EXIT(create_events_without_memory<Misuse>(), ::testing::ExitedWithCode(0), reported);
}

}  // namespace
}  // namespace cushim::check
