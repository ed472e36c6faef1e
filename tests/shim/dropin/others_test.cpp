// SPDX-License-Identifier: Apache-2.0
// Warnings when a mock does not receive all driver calls of the process. Each test runs in a separate
// process, because each warning is printed once per process.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include <cstdlib>

namespace {

[[noreturn]] void make_mocks(const char *library) {
  if (library != nullptr && dlopen(library, RTLD_NOW | RTLD_LOCAL) == nullptr) std::exit(2);
  {
    const cushim::mock::MockDriver first;
    const cushim::mock::MockDriver second;
  }
  std::fputs("the end\n", stderr);
  std::exit(0);
}

class MockWarning : public testing::Test {
 protected:
  void SetUp() override {
    if (*CUSHIM_TEST_EMULATOR != '\0') GTEST_SKIP() << "the program cannot start itself again in an emulator";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(MockWarning, No_warning_is_printed_if_the_mock_receives_all_calls) {
  EXPECT_EXIT(make_mocks(nullptr), testing::ExitedWithCode(0), "^the end\n$");
}

TEST_F(MockWarning, A_warning_names_the_file_that_links_libcuda) {
  EXPECT_EXIT(
      make_mocks(CUSHIM_TEST_LINKS_LIBCUDA), testing::ExitedWithCode(0),
      "^cushim: mock drivers do not receive calls from files that link libcuda or NVIDIA's runtime library: "
      "[^\n]*libcushim_links_libcuda\\.so\nthe end\n$");
}

TEST_F(MockWarning, A_warning_names_the_other_copy_of_cushim) {
  EXPECT_EXIT(make_mocks(CUSHIM_TEST_LIBRARY), testing::ExitedWithCode(0),
              "^cushim: mock drivers do not receive calls from other copies of cushim in this process: "
              "[^\n]*libcushim_drop_in_library\\.so\nthe end\n$");
}

}  // namespace
