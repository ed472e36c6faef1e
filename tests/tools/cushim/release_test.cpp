// SPDX-License-Identifier: Apache-2.0
#include "common/release.hpp"

#include <gtest/gtest.h>

namespace cushim::command {
namespace {

TEST(Release, A_release_is_read_as_the_drivers_number_for_it) {
  EXPECT_EQ(parse_release("12.4"), 12040);
  EXPECT_EQ(parse_release("11.8"), 11080);
  EXPECT_EQ(parse_release("13"), 13000);
}

TEST(Release, A_text_that_is_not_a_release_is_refused) {
  for (const char *text :
       {"", ".", "x", "12.", ".4", "12.x", "12.4.1", "-12.4", "12.100", "12 4", "0.1", "99999"})
    EXPECT_FALSE(parse_release(text)) << text;
}

TEST(Release, A_written_release_is_parsed_again) {
  for (const int version : {2000, 3020, 12040, 13050})
    EXPECT_EQ(parse_release(release_text(version)), version);
}

}  // namespace
}  // namespace cushim::command
