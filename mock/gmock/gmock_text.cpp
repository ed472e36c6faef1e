// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/mock_driver.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>
#include <string_view>

namespace cushim::mock {
namespace {

void report(const testing::TestPartResult &result, const std::string &message) {
  testing::internal::AssertHelper(result.type(), result.file_name(), result.line_number(), message.c_str()) =
      testing::Message();
}

// Texts of GoogleMock; tests/mock/gmock/gmock_text_test.cpp verifies them for the GoogleMock in use.
bool is_unexpected(std::string_view message) {
  return message.find("Unexpected mock function call") != message.npos ||
         message.find("Mock function called more times than expected") != message.npos;
}

// Replaces the call in a message by cushim's format: GoogleMock prints device addresses as decimal numbers.
std::string with_call(std::string message, const Call &call) {
  constexpr std::string_view kCall = "Function call: ";
  const std::size_t begin = message.find(kCall);
  if (begin == message.npos) return message;
  const std::size_t end = std::min(message.find('\n', begin), message.size());
  return message.replace(begin, end - begin, std::string(kCall) + call.to_text());
}

// Converts decimal numbers of two digits and more, except parts of words and of other numbers.
std::string in_hexadecimal(const std::string &text) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_part(text[end])) ++end;
    const std::string word = text.substr(i, end - i);
    CUdeviceptr value = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.size() > 1 && error == std::errc() && rest == word.data() + word.size())
      result += Value(value).to_text("", "");
    else
      result += word;
    if (end < text.size()) result += text[end];
    i = end + 1;
  }
  return result;
}

class InHexadecimal final : public testing::MatcherInterface<CUdeviceptr> {
 public:
  explicit InHexadecimal(testing::Matcher<CUdeviceptr> matcher) : matcher_(std::move(matcher)) {}
  bool MatchAndExplain(CUdeviceptr value, testing::MatchResultListener *listener) const override {
    if (!listener->IsInterested()) return matcher_.Matches(value);
    testing::StringMatchResultListener explanation;
    const bool is_match = matcher_.MatchAndExplain(value, &explanation);
    *listener << "which is " << Value(value).to_text("", "");
    if (!explanation.str().empty()) *listener << ", " << in_hexadecimal(explanation.str());
    return is_match;
  }
  void DescribeTo(std::ostream *out) const override {
    std::ostringstream text;
    matcher_.DescribeTo(&text);
    *out << in_hexadecimal(text.str());
  }
  void DescribeNegationTo(std::ostream *out) const override {
    std::ostringstream text;
    matcher_.DescribeNegationTo(&text);
    *out << in_hexadecimal(text.str());
  }

 private:
  const testing::Matcher<CUdeviceptr> matcher_;
};

}  // namespace

testing::Matcher<CUdeviceptr> in_hexadecimal(const testing::Matcher<CUdeviceptr> &matcher) {
  return testing::Matcher<CUdeviceptr>(new InHexadecimal(matcher));
}

bool Failures::pass_on_all(const MockDriver &mock, const Call &call) {
  bool was_unexpected = false;
  for (int i = 0; i < results_.size(); ++i) {
    const testing::TestPartResult &result = results_.GetTestPartResult(i);
    const bool is_one = is_unexpected(result.message());
    was_unexpected |= is_one;
    const std::string variants = is_one ? mock.set_variants(static_cast<int>(call.entry)) : "";
    report(result, with_call(result.message(), call) + variants);
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
    // GoogleTest is configured to throw failures, and has already thrown this one.
  }
}

}  // namespace cushim::mock
