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

// GoogleMock's words; gmock_words_test.cpp holds the GoogleMock in use to them.
bool says(const testing::TestPartResult &result, std::string_view words) {
  return std::string_view(result.message()).find(words) != std::string_view::npos;
}
bool is_uninteresting(const testing::TestPartResult &result) {
  return says(result, "Uninteresting mock function call");
}
bool is_unexpected(const testing::TestPartResult &result) {
  return says(result, "Unexpected mock function call") ||
         says(result, "Mock function called more times than expected");
}
bool has_default(const testing::TestPartResult &result) { return says(result, "taking default action"); }

}  // namespace

Failures::Verdict Failures::pass_on_all(const MockDriver &mock, int slot) {
  Verdict verdict = Verdict::answered;
  for (int i = 0; i < results_.size(); ++i) {
    const testing::TestPartResult &result = results_.GetTestPartResult(i);
    if (is_uninteresting(result)) {
      if (!has_default(result)) verdict = Verdict::unset;
    } else if (is_unexpected(result)) {
      verdict = Verdict::unexpected;
      report(result, result.message() + mock.set_variants(slot));
    } else {
      report(result, result.message());
    }
  }
  return verdict;
}

Failures::~Failures() {
  if (!reporter_) return;
  reporter_.reset();
  for (int i = 0; i < results_.size(); ++i)
    report(results_.GetTestPartResult(i), results_.GetTestPartResult(i).message());
}

}  // namespace mock
}  // namespace v1
}  // namespace cushim
