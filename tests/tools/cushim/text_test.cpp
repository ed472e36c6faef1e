// SPDX-License-Identifier: Apache-2.0
#include "common/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cushim/detail/nearest.hpp>

namespace cushim::command {
namespace {

using testing::ElementsAre;

TEST(Text, Lines_are_broken_between_words_and_indented) {
  EXPECT_EQ(wrap("one two three", 2, 10), "one two\n  three");
  EXPECT_EQ(wrap("one two three", 2, 15), "one two three");
}

TEST(Text, A_word_longer_than_a_line_stays_whole) {
  EXPECT_EQ(wrap("a indivisible b", 1, 6), "a\n indivisible\n b");
}

TEST(Text, An_empty_text_has_no_line) { EXPECT_EQ(wrap("", 4), ""); }

TEST(Text, What_could_steer_a_terminal_or_forge_a_line_is_escaped) {
  EXPECT_EQ(printable("a\nb"), "a\\nb");
  EXPECT_EQ(printable("\x1b]0;title\a"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m"),
            "\\xc2\\x9b"
            "1m")
      << "a control character of two bytes";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "from right to left";
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3") << "no UTF-8";
  EXPECT_EQ(printable("\xc0\x8a\xed\xa0\x80"), "\\xc0\\x8a\\xed\\xa0\\x80") << "a long form, half a pair";
  EXPECT_EQ(printable("plain \xc3\xa4 \xe6\x97\xa5 \xf0\x9f\x98\x80"),
            "plain \xc3\xa4 \xe6\x97\xa5 \xf0\x9f\x98\x80");
  EXPECT_EQ(wrap("a\nb", 0), "a\\nb");
}

TEST(Text, Distance_counts_inserted_deleted_and_replaced_letters) {
  EXPECT_EQ(mock::edits("same", "same"), 0u);
  EXPECT_EQ(mock::edits("", "abc"), 3u);
  EXPECT_EQ(mock::edits("abc", ""), 3u);
  EXPECT_EQ(mock::edits("kitten", "sitting"), 3u);
}

TEST(Text, The_nearest_words_come_first_and_those_that_contain_the_word_before_all_others) {
  EXPECT_THAT(nearest("ready", {"read", "not ready yet", "steady"}, 2), ElementsAre("not ready yet", "read"));
}

TEST(Text, No_more_nearest_words_are_given_than_there_are) {
  EXPECT_THAT(nearest("x", {"y"}, 3), ElementsAre("y"));
}

TEST(Text, A_plain_pattern_matches_any_part_in_any_case) {
  EXPECT_TRUE(matches("memalloc", "cuMemAlloc_v2"));
  EXPECT_TRUE(matches("", "cuInit"));
  EXPECT_FALSE(matches("memfree", "cuMemAlloc_v2"));
}

TEST(Text, A_glob_matches_all_of_the_name_in_any_case) {
  EXPECT_TRUE(matches("CUMEM*_V2", "cuMemAlloc_v2"));
  EXPECT_TRUE(matches("cuIni?", "cuInit"));
  EXPECT_TRUE(matches("cuMemcpy[DH]to?", "cuMemcpyDtoD"));
  EXPECT_FALSE(matches("Mem*", "cuMemAlloc_v2"));
}

}  // namespace
}  // namespace cushim::command
