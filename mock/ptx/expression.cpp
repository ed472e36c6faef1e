// SPDX-License-Identifier: Apache-2.0
// Constant expressions.
#include "parser.hpp"

namespace cushim::ptx {
namespace {

constexpr unsigned deepest_expression = 64;

}  // namespace

Constant Parser::expression() {
  // Fast path: most constants are one number.
  if (token_.kind == TokenKind::number) {
    const Token number = token_;
    advance();
    const auto value = read_number(number.text);
    if (!value) fatal(number.position, "Parsing error near " + quoted(number.text) + ": syntax error");
    return continue_expression(*value);
  }
  return conditional();
}

Constant Parser::conditional() {
  if (++nesting_ > deepest_expression) fatal(token_.position, "Expression is nested too deeply");
  const Constant made = continue_conditional(binary_expression(1));
  --nesting_;
  return made;
}

Constant Parser::continue_conditional(const Constant &condition) {
  if (!accept('?')) return condition;
  const Constant yes = conditional();
  expect(':');
  const Constant no = conditional();
  return condition.bits != 0 ? yes : no;
}

// Continues an expression whose first operand is `first`.
Constant Parser::continue_expression(const Constant &first) {
  return continue_conditional(continue_binary(first, 1));
}

// Returns an empty text if the token is not punctuation.
std::string_view Parser::binary_operator() const {
  return token_.kind == TokenKind::punctuation ? token_.text : std::string_view();
}

Constant Parser::binary_expression(int weakest) { return continue_binary(unary_expression(), weakest); }

Constant Parser::continue_binary(Constant left, int weakest) {
  while (true) {
    const std::string_view op = binary_operator();
    const int strength = op.empty() ? 0 : precedence(op);
    if (strength == 0 || strength < weakest) return left;
    const Position position = token_.position;
    advance();
    const auto value = binary(op, left, binary_expression(strength + 1));
    if (!value) fatal(position, "Invalid constant expression");
    left = *value;
  }
}

Constant Parser::unary_expression() {
  if (token_.kind != TokenKind::punctuation ||
      !(token_.is('-') || token_.is('+') || token_.is('~') || token_.is('!')))
    return primary_expression();
  if (++nesting_ > deepest_expression) fatal(token_.position, "Expression is nested too deeply");
  const Token op = token_;
  advance();
  const auto value = unary(op.text, unary_expression());
  if (!value) fatal(op.position, "Invalid constant expression");
  --nesting_;
  return *value;
}

Constant Parser::primary_expression() {
  if (token_.is('(')) {
    advance();
    // A cast: (.s64) or (.u64).
    if (token_.is(".s64") || token_.is(".u64")) {
      const bool is_unsigned = token_.is(".u64");
      advance();
      expect(')');
      if (++nesting_ > deepest_expression) fatal(token_.position, "Expression is nested too deeply");
      Constant value = unary_expression();
      --nesting_;
      value.is_unsigned = is_unsigned;
      return value;
    }
    const Constant value = conditional();
    expect(')');
    return value;
  }
  if (token_.kind == TokenKind::identifier && token_.is("WARP_SZ")) {
    advance();
    return {NumberKind::integer, 32, false, false};
  }
  if (token_.kind != TokenKind::number) syntax_error();
  const auto value = read_number(token_.text);
  if (!value) syntax_error();
  advance();
  return *value;
}

}  // namespace cushim::ptx
