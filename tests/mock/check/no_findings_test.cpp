// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest-spi.h>

#include <functional>
#include <string>

#include "fixture.hpp"

namespace cushim::check {
namespace {

class GuardedBody : public OnDevice {
 protected:
  // Returns the messages of the failures that the body causes; catches exceptions as GoogleTest does.
  static std::vector<std::string> failures_of(const std::function<void()> &body) {
    ::testing::TestPartResultArray results;
    {
      const ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      try {
        body();
      } catch (const std::runtime_error &) {
      }
    }
    std::vector<std::string> messages;
    for (int i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(has(results.GetTestPartResult(i).file_name(), "no_findings_test.cpp"));
      messages.emplace_back(results.GetTestPartResult(i).message());
    }
    return messages;
  }
};

TEST_F(GuardedBody, That_leaks_fails) {
  CUevent made = nullptr;
  const auto failures = failures_of([&] {
    const testing::NoFindings none;
    made = event();
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(has(failures[0], "leaks/never-destroyed")) << failures[0];
  need(driver().cuEventDestroy(made));
}

TEST_F(GuardedBody, That_throws_fails_by_what_it_leaks) {
  CUevent made = nullptr;
  const auto failures = failures_of([&] {
    const testing::NoFindings none("leaks,misuse");
    made = event();
    throw std::runtime_error("the body's");
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(has(failures[0], "leaks/never-destroyed")) << failures[0];
  need(driver().cuEventDestroy(made));
}

TEST_F(GuardedBody, That_is_correct_passes) {
  const auto failures = failures_of([] {
    const testing::NoFindings none;
    need(driver().cuEventDestroy(event()));
  });
  EXPECT_TRUE(failures.empty()) << failures[0];
}

}  // namespace
}  // namespace cushim::check
