// SPDX-License-Identifier: Apache-2.0
// A lexer for PTX text. The text must end in a NUL; tokens are views of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <cushim/ptx/module.hpp>

namespace cushim::ptx {

enum class TokenKind : std::uint8_t {
  end,
  identifier,   // begins with a letter, or with _, $ or % and another character
  sink,         // _ alone
  number,       // integer or floating-point, any base
  dot_word,     // .word or .word::word
  string,       // with its quotes
  punctuation,  // one character, or one of << >> <= >= == != && ||
  broken        // an unknown character, or an unterminated comment or string
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  Position position;

  bool is(std::string_view what) const { return text == what; }
  bool is(char what) const { return kind == TokenKind::punctuation && text.size() == 1 && text[0] == what; }
};

class Lexer {
 public:
  explicit Lexer(const std::string &text)
      : at_(text.data()), line_start_(text.data()), end_(text.data() + text.size()) {}

  Token next();

  // The character after the last token, without skipping white space.
  char following() const { return *at_; }

  // Skips white space and comments. Consumes a single colon if one follows, and returns whether it did.
  bool accept_label_colon();

  // Extends `token`, which must be the last one, by every ".word" that directly follows.
  void extend_by_modifiers(Token &token);

  // Skips white space and comments; returns whether a "." and a letter or digit follow.
  bool modifier_ahead();

  // Skips to the end of the line.
  void skip_line();

  // Returns whether the last `broken` token is an unterminated comment or string.
  bool unterminated() const { return unterminated_; }

 private:
  bool skip_space();  // false: a comment is unterminated
  bool skip_comment();
  const char *skip_word(const char *at) const;
  Token token(TokenKind kind, const char *from);
  const char *number_end() const;
  const char *punctuation_end() const;
  const char *string_end();

  const char *at_;
  const char *line_start_;
  const char *end_;
  std::uint32_t line_ = 1;
  bool unterminated_ = false;
};

}  // namespace cushim::ptx
