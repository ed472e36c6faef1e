// SPDX-License-Identifier: Apache-2.0
#include "lexer.hpp"

#include <array>
#include <cstring>

namespace cushim::ptx {
namespace {

enum Class : std::uint8_t { other, space, name_start, name_mark, digit, dot, punctuation };

constexpr std::array<Class, 256> classes = [] {
  std::array<Class, 256> made{};
  for (const char c : {' ', '\t', '\r', '\v', '\f', '\n'}) made[static_cast<unsigned char>(c)] = space;
  for (unsigned c = 'a'; c <= 'z'; ++c) made[c] = made[c - 'a' + 'A'] = name_start;
  for (const char c : {'_', '$', '%'}) made[static_cast<unsigned char>(c)] = name_mark;
  for (unsigned c = '0'; c <= '9'; ++c) made[c] = digit;
  for (const char c : {'(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '=',
                       '+', '-', '*', '/', '!', '~', '&', '|', '^', '?', '@', '"'})
    made[static_cast<unsigned char>(c)] = punctuation;
  made['.'] = dot;
  return made;
}();

Class class_of(char c) { return classes[static_cast<unsigned char>(c)]; }

// True for letters, digits, _ and $.
constexpr std::array<bool, 256> name_parts = [] {
  std::array<bool, 256> made{};
  for (unsigned c = 0; c < 256; ++c) made[c] = classes[c] == name_start || classes[c] == digit;
  made['_'] = made['$'] = true;
  return made;
}();

bool name_part(char c) { return name_parts[static_cast<unsigned char>(c)]; }

}  // namespace

bool Lexer::skip_comment() {
  if (at_[1] == '/') {
    skip_line();
    return true;
  }
  const char *at = at_ + 2;
  for (; !(at[0] == '*' && at[1] == '/'); ++at) {
    if (at == end_) return false;
    if (*at != '\n') continue;
    ++line_;
    line_start_ = at + 1;
  }
  at_ = at + 2;
  return true;
}

void Lexer::skip_line() {
  const auto left = static_cast<std::size_t>(end_ - at_);
  const void *newline = std::memchr(at_, '\n', left);
  at_ = newline ? static_cast<const char *>(newline) : end_;
}

bool Lexer::skip_space() {
  while (true) {
    if (class_of(*at_) == space) {
      if (*at_++ != '\n') continue;
      ++line_;
      line_start_ = at_;
    } else if (*at_ == '/' && (at_[1] == '/' || at_[1] == '*')) {
      if (!skip_comment()) return false;
    } else {
      return true;
    }
  }
}

// Returns the end of a word that begins before `at`, including names joined by "::".
const char *Lexer::skip_word(const char *at) const {
  while (true) {
    while (name_part(*at)) ++at;
    if (!(at[0] == ':' && at[1] == ':' && name_part(at[2]))) return at;
    at += 2;
  }
}

Token Lexer::token(TokenKind kind, const char *end) {
  Token made{kind,
             {at_, static_cast<std::size_t>(end - at_)},
             {line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)}};
  at_ = end;
  return made;
}

// Accepts digits, letters (hexadecimal digits, suffixes, exponents) and, in decimal numbers, a fraction and a
// signed exponent.
const char *Lexer::number_end() const {
  const char *at = at_;
  const bool based =
      at[0] == '0' && class_of(at[1]) == name_start && at[1] != 'e' && at[1] != 'E' && at[1] != 'U';
  while (name_part(*at)) ++at;
  if (based) return at;
  if (*at == '.') {
    ++at;
    while (name_part(*at)) ++at;
  }
  if ((at[-1] == 'e' || at[-1] == 'E') && (*at == '+' || *at == '-')) {
    ++at;
    while (class_of(*at) == digit) ++at;
  }
  return at;
}

const char *Lexer::punctuation_end() const {
  const char second = at_[1];
  switch (*at_) {
    case '<':
      return at_ + (second == '<' || second == '=' ? 2 : 1);
    case '>':
      return at_ + (second == '>' || second == '=' ? 2 : 1);
    case '=':
    case '!':
      return at_ + (second == '=' ? 2 : 1);
    case '&':
    case '|':
      return at_ + (second == *at_ ? 2 : 1);
    default:
      return at_ + 1;
  }
}

// Returns null if the string does not end on its line.
const char *Lexer::string_end() {
  const char *at = at_ + 1;
  for (; *at != '"'; ++at) {
    if (*at == '\\' && at[1] != '\n' && at + 1 < end_) ++at;
    if (at >= end_ || *at == '\n') return nullptr;
  }
  return at + 1;
}

Token Lexer::next() {
  if (!skip_space()) {
    unterminated_ = true;
    return token(TokenKind::broken, at_);
  }
  switch (class_of(*at_)) {
    case name_start:
    case name_mark: {
      const char *at = at_ + 1;
      while (name_part(*at)) ++at;
      if (at == at_ + 1 && class_of(*at_) == name_mark)
        return token(*at_ == '_' ? TokenKind::sink : TokenKind::broken, at);
      return token(TokenKind::identifier, at);
    }
    case digit:
      return token(TokenKind::number, number_end());
    case dot:
      if (!name_part(at_[1])) return token(TokenKind::broken, at_ + 1);
      return token(TokenKind::dot_word, skip_word(at_ + 1));
    case punctuation:
      if (*at_ != '"') return token(TokenKind::punctuation, punctuation_end());
      if (const char *end = string_end()) return token(TokenKind::string, end);
      unterminated_ = true;
      return token(TokenKind::broken, at_ + 1);
    default:
      if (at_ == end_) return token(TokenKind::end, at_);
      return token(TokenKind::broken, at_ + 1);
  }
}

bool Lexer::accept_label_colon() {
  if (!skip_space() || *at_ != ':' || at_[1] == ':') return false;
  ++at_;
  return true;
}

void Lexer::extend_by_modifiers(Token &token) {
  const char *begin = token.text.data();
  if (at_ != begin + token.text.size()) return;  // white space was skipped after the token
  while (*at_ == '.' && name_part(at_[1])) at_ = skip_word(at_ + 1);
  token.text = {begin, static_cast<std::size_t>(at_ - begin)};
}

bool Lexer::modifier_ahead() { return skip_space() && *at_ == '.' && name_part(at_[1]); }

}  // namespace cushim::ptx
