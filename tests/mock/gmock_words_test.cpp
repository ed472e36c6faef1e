// SPDX-License-Identifier: Apache-2.0
// The words by which cushim knows GoogleMock's reports apart (mock/gmock/failures.cpp), held against
// the GoogleMock in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "failing.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;

struct Strict {
  MOCK_METHOD(int, method, (int));
};

TEST(GoogleMockSays, Uninteresting_of_a_call_for_which_nothing_is_set) {
  testing::StrictMock<Strict> mock;
  const std::string text = failures_of([&] { mock.method(1); });
  EXPECT_THAT(text, HasSubstr("Uninteresting mock function call"));
  EXPECT_THAT(text, Not(HasSubstr("taking default action")));
}

TEST(GoogleMockSays, Taking_default_action_where_ON_CALL_set_one) {
  testing::StrictMock<Strict> mock;
  ON_CALL(mock, method).WillByDefault(testing::Return(1));
  const std::string text = failures_of([&] { mock.method(1); });
  EXPECT_THAT(text, HasSubstr("Uninteresting mock function call"));
  EXPECT_THAT(text, HasSubstr("taking default action"));
}

TEST(GoogleMockSays, Unexpected_of_other_arguments) {
  testing::StrictMock<Strict> mock;
  EXPECT_CALL(mock, method(2)).Times(0);
  EXPECT_THAT(failures_of([&] { mock.method(1); }), HasSubstr("Unexpected mock function call"));
}

TEST(GoogleMockSays, More_times_than_expected_of_a_call_too_many) {
  testing::StrictMock<Strict> mock;
  EXPECT_CALL(mock, method(1)).Times(0);
  EXPECT_THAT(failures_of([&] { mock.method(1); }),
              HasSubstr("Mock function called more times than expected"));
}

}  // namespace
