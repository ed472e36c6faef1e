// SPDX-License-Identifier: Apache-2.0
#include "lexer.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "constant.hpp"

namespace cushim::ptx {
namespace {

std::vector<Token> tokens(const std::string &text) {
  Lexer lexer(text);
  std::vector<Token> made;
  do made.push_back(lexer.next());
  while (made.back().kind != TokenKind::end && made.back().kind != TokenKind::broken);
  return made;
}

TEST(Lexer, TokensHaveTheirKindTextAndPosition) {
  const std::string text = ".reg .b32 %r<5>;\n  L: bra L;";
  const std::vector<Token> made = tokens(text);
  ASSERT_EQ(made.size(), 13u);
  EXPECT_EQ(made[0].kind, TokenKind::dot_word);
  EXPECT_EQ(made[2].kind, TokenKind::identifier);
  EXPECT_EQ(made[2].text, "%r");
  EXPECT_EQ(made[4].kind, TokenKind::number);
  EXPECT_EQ(made[7].text, "L");
  EXPECT_EQ(made[7].position.line, 2u);
  EXPECT_EQ(made[7].position.column, 3u);
  EXPECT_EQ(made.back().kind, TokenKind::end);
}

TEST(Lexer, CommentsAreWhiteSpaceAndCountLines) {
  const std::string text = "a // b\n/* c\n * d */ e";
  const std::vector<Token> made = tokens(text);
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[1].text, "e");
  EXPECT_EQ(made[1].position.line, 3u);
  EXPECT_EQ(made[1].position.column, 9u);
}

TEST(Lexer, AWordMayContainDoubleColons) {
  const std::string text = ".shared::cta .mbarrier::complete_tx::bytes x:";
  const std::vector<Token> made = tokens(text);
  EXPECT_EQ(made[0].text, ".shared::cta");
  EXPECT_EQ(made[1].text, ".mbarrier::complete_tx::bytes");
  EXPECT_EQ(made[2].text, "x");
}

TEST(Lexer, ACommentWithoutEndIsBroken) {
  const std::string text = "a /* b";
  EXPECT_EQ(tokens(text).back().kind, TokenKind::broken);
}

TEST(Lexer, AStringEndsOnItsLine) {
  const std::string good = R"("a \" b")";
  EXPECT_EQ(tokens(good)[0].text, good);
  const std::string bad = "\"a\nb\"";
  EXPECT_EQ(tokens(bad)[0].kind, TokenKind::broken);
}

TEST(Constant, IntegersHaveFourBases) {
  EXPECT_EQ(read_number("42")->bits, 42);
  EXPECT_EQ(read_number("0x2A")->bits, 42);
  EXPECT_EQ(read_number("052")->bits, 42);
  EXPECT_EQ(read_number("0b101010")->bits, 42);
  EXPECT_TRUE(read_number("42U")->is_unsigned);
  EXPECT_EQ(read_number("0xFFFFFFFFFFFFFFFF")->bits, -1);
  EXPECT_FALSE(read_number("0x1FFFFFFFFFFFFFFFF"));
  EXPECT_FALSE(read_number("12ab"));
}

TEST(Constant, FloatingConstantsAreBitsOrDecimal) {
  EXPECT_EQ(read_number("0f3F800000")->kind, NumberKind::f32);
  EXPECT_EQ(read_number("0f3F800000")->bits, 0x3f800000);
  EXPECT_EQ(read_number("0d3FF0000000000000")->kind, NumberKind::f64);
  EXPECT_EQ(as_double(*read_number("1.5e1")), 15.0);
  EXPECT_FALSE(read_number("0f3F80"));
}

}  // namespace
}  // namespace cushim::ptx
