// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/mock_driver.hpp>

#include <string_view>

namespace cushim {
inline namespace v1 {
namespace mock {
namespace {

void report(const testing::TestPartResult &result, const std::string &message) {
  testing::internal::AssertHelper(result.type(), result.file_name(), result.line_number(), message.c_str()) =
      testing::Message();
}

// GoogleMock's words; tests/mock/gmock_words_test.cpp holds the GoogleMock in use to them.
bool is_unexpected(std::string_view message) {
  return message.find("Unexpected mock function call") != message.npos ||
         message.find("Mock function called more times than expected") != message.npos;
}

}  // namespace

bool Failures::pass_on_all(const MockDriver &mock, int slot) {
  bool was_unexpected = false;
  for (int i = 0; i < results_.size(); ++i) {
    const testing::TestPartResult &result = results_.GetTestPartResult(i);
    const bool is_one = is_unexpected(result.message());
    was_unexpected |= is_one;
    report(result, result.message() + (is_one ? mock.set_variants(slot) : ""));
  }
  return was_unexpected;
}

Failures::~Failures() {
  if (!reporter_) return;
  reporter_.reset();
  try {
    for (int i = 0; i < results_.size(); ++i)
      report(results_.GetTestPartResult(i), results_.GetTestPartResult(i).message());
  } catch (...) {
    // GoogleTest was told to throw failures, and has thrown this one before.
  }
}

}  // namespace mock
}  // namespace v1
}  // namespace cushim
