// SPDX-License-Identifier: Apache-2.0
// Checks that the GoogleMock in use still has the phrases by which cushim distinguishes GoogleMock's reports
// (mock/gmock/gmock_text.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "failing.hpp"

namespace {

using testing::HasSubstr;

struct Mock {
  MOCK_METHOD(int, method, (int));
};

TEST(GoogleMockSays, Unexpected_of_other_arguments) {
  Mock mock;
  EXPECT_CALL(mock, method(2)).Times(0);
  EXPECT_THAT(failures_of([&] { mock.method(1); }), HasSubstr("Unexpected mock function call"));
}

TEST(GoogleMockSays, More_times_than_expected_of_a_call_too_many) {
  Mock mock;
  EXPECT_CALL(mock, method(1)).Times(0);
  EXPECT_THAT(failures_of([&] { mock.method(1); }),
              HasSubstr("Mock function called more times than expected"));
}

}  // namespace
