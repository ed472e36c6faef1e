// SPDX-License-Identifier: Apache-2.0
// The error log: what tests/conformance does not ask.
#include <algorithm>
#include <string>

#include "support/machine_fixture.hpp"

#if CUDA_VERSION >= 12090

namespace cushim::sim {
namespace {

void fail_once() { static_cast<void>(driver().cuEventCreate(nullptr, 0)); }

TEST(ErrorLog, Does_not_write_beyond_a_small_buffer) {
  const Running running;
  for (int i = 0; i < 50; ++i) fail_once();
  std::string text(2000, 'x');
  std::size_t size = 1000;
  need(driver().cuLogsDumpToMemory(nullptr, text.data(), &size, 0));
  EXPECT_LT(size, 1000u);
  EXPECT_EQ(text[size], '\0');
  EXPECT_EQ(text.find_first_not_of('x', 1000), text.npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 9) << "a notice and the newest messages";
}

TEST(ErrorLog, Tells_of_entry_points_that_are_not_implemented) {
  const Running running;
  int list = 0;
  EXPECT_EQ(driver().cuDeviceGetNvSciSyncAttributes(&list, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  std::string text(1000, 'x');
  std::size_t size = text.size();
  need(driver().cuLogsDumpToMemory(nullptr, text.data(), &size, 0));
  EXPECT_NE(text.find("(CUDA_ERROR_NOT_SUPPORTED) from cuDeviceGetNvSciSyncAttributes\n"), text.npos) << text;
}

TEST(ErrorLog, Calls_functions_outside_of_the_machines_lock) {
  const Running running;
  int count = 0;
  CUlogsCallbackHandle handle = nullptr;
  const auto use_driver = [](void *data, CUlogLevel, char *, std::size_t) {
    static_cast<void>(driver().cuDeviceGetCount(static_cast<int *>(data)));
  };
  need(driver().cuLogsRegisterCallback(use_driver, &count, &handle));
  fail_once();
  EXPECT_EQ(count, 1);
  need(driver().cuLogsUnregisterCallback(handle));
}

}  // namespace
}  // namespace cushim::sim

#endif
