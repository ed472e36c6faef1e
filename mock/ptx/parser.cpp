// SPDX-License-Identifier: Apache-2.0
// Module scope, tokens and diagnostics.
#include "parser.hpp"

#include <charconv>
#include <limits>

namespace cushim::ptx {
namespace {

constexpr std::uint32_t newest_major = 9;
constexpr std::size_t largest_text = std::size_t{1} << 31;  // indices are 32 bits wide

std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

// Removes a decimal number from the front of `text` and returns it.
std::optional<std::uint32_t> take_number(std::string_view &text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

Parser::Parser(std::string_view text, const ParseOptions &options, ParseResult &result)
    : options_(options),
      result_(result),
      text_(std::make_shared<Text>(Text{std::string(until_nul(text)), {}})),
      lexer_(text_->source) {
  result_.module.text = std::shared_ptr<const std::string>(text_, &text_->source);
}

void Parser::parse() try {
  if (text_->source.size() >= largest_text) fatal({}, "Input is too large");
  names_.open();
  advance();
  module_header();
  while (token_.kind != TokenKind::end) statement();
} catch (const Abort &) {
}

void Parser::report(Severity severity, Position position, std::string message) {
  result_.diagnostics.push_back({severity, position, std::move(message)});
  if (severity == Severity::error && ++errors_ >= options_.most_errors) throw Abort{};
}

void Parser::fatal(Position position, std::string message) {
  report(Severity::fatal, position, std::move(message));
  throw Abort{};
}

void Parser::syntax_error() {
  if (token_.kind == TokenKind::broken && lexer_.unterminated())
    fatal(token_.position, "Parsing error near '': unexpected EOF while scanning");
  fatal(token_.position, "Parsing error near " + quoted(token_.text) + ": syntax error");
}

bool Parser::accept(char what) {
  if (!token_.is(what)) return false;
  advance();
  return true;
}

void Parser::expect(char what) {
  if (!accept(what)) syntax_error();
}

bool Parser::accept_word(std::string_view what) {
  if (token_.kind != TokenKind::dot_word || !token_.is(what)) return false;
  advance();
  return true;
}

std::string_view Parser::expect_identifier() {
  if (token_.kind != TokenKind::identifier) syntax_error();
  const std::string_view text = token_.text;
  advance();
  return text;
}

std::uint64_t Parser::expect_unsigned() {
  const Position position = token_.position;
  const Constant value = expression();
  if (value.kind != NumberKind::integer) fatal(position, "Integer constant expected");
  if (value.bits < 0 && !value.is_unsigned) fatal(position, "Non-negative integer constant expected");
  return static_cast<std::uint64_t>(value.bits);
}

std::uint32_t Parser::expect_u32() {
  const Position position = token_.position;
  const std::uint64_t value = expect_unsigned();
  if (value > std::numeric_limits<std::uint32_t>::max()) fatal(position, "Value out of range");
  return static_cast<std::uint32_t>(value);
}

std::string_view Parser::expect_string() {
  if (token_.kind != TokenKind::string) syntax_error();
  const std::string_view text = token_.text.substr(1, token_.text.size() - 2);
  advance();
  return text;
}

// Module scope.

void Parser::module_header() {
  if (token_.kind == TokenKind::end) fatal(token_.position, "Missing .version directive at start of file ''");
  version();
  if (!token_.is(".target")) fatal(token_.position, "Missing .target directive at start of file ''");
  target();
  if (!accept_word(".address_size")) return;
  const Position position = token_.position;
  result_.module.address_size = expect_u32();
  if (result_.module.address_size != 32 && result_.module.address_size != 64)
    fatal(position, "Address size must be 32 or 64");
}

void Parser::version() {
  if (!accept_word(".version")) fatal(token_.position, "Missing .version directive at start of file ''");
  std::string_view text = token_.text;
  const auto major = token_.kind == TokenKind::number ? take_number(text) : std::nullopt;
  if (!major || !text.starts_with('.')) syntax_error();
  text.remove_prefix(1);
  const auto minor = take_number(text);
  if (!minor || !text.empty()) syntax_error();
  result_.module.version_major = *major;
  result_.module.version_minor = *minor;
  if (*major == 0 || *major > newest_major)
    fatal(token_.position, "Unsupported .version " + std::string(token_.text) + "; current version is '9.0'");
  advance();
}

void Parser::target() {
  advance();
  do {
    const Position position = token_.position;
    std::string_view text = expect_identifier();
    Target &target = result_.module.target;
    if (text == "texmode_unified" || text == "texmode_independent") {
      target.unified_textures = text == "texmode_unified";
    } else if (text == "debug") {
      target.debug = true;
    } else if (text == "map_f64_to_f32") {
      target.map_f64_to_f32 = true;
    } else {
      const std::string_view whole = text;
      const bool known = text.starts_with("sm_") || text.starts_with("compute_");
      if (known) text.remove_prefix(text.find('_') + 1);
      const auto sm = known ? take_number(text) : std::nullopt;
      if (!sm || text.size() > 1 || (text.size() == 1 && text[0] != 'a' && text[0] != 'f'))
        fatal(position, "Unknown .target argument: " + quoted(whole));
      target.sm = *sm;
      target.suffix = text.empty() ? '\0' : text[0];
    }
  } while (accept(','));
  if (result_.module.target.sm == 0)
    fatal(token_.position, "Missing target architecture in .target directive");
}

void Parser::statement() {
  if (token_.is('@')) return lexer_.skip_line(), advance();  // @@DWARF: debug data of early PTX versions
  if (accept(';')) return;
  if (token_.kind != TokenKind::dot_word) syntax_error();
  if (token_.is(".file")) return file();
  if (token_.is(".section")) return section();
  if (token_.is(".pragma")) return pragma(result_.module.pragmas);
  if (token_.is(".alias")) return alias();
  if (token_.is(".loc")) return lexer_.skip_line(), advance();
  const Linkage linked = linkage().value_or(Linkage::internal);
  if (accept_word(".entry")) return function(linked, true);
  if (accept_word(".func")) return function(linked, false);
  variables(linked);
}

std::optional<Linkage> Parser::linkage() {
  static constexpr struct {
    std::string_view word;
    Linkage linkage;
  } words[] = {{".extern", Linkage::external},
               {".visible", Linkage::visible},
               {".weak", Linkage::weak},
               {".common", Linkage::common}};
  for (const auto &one : words)
    if (accept_word(one.word)) return one.linkage;
  return std::nullopt;
}

// Parses `.file number "name" {, timestamp, size}`.
void Parser::file() {
  advance();
  SourceFile made;
  made.number = expect_u32();
  made.name = expect_string();
  if (accept(',')) {
    made.timestamp = expect_unsigned();
    expect(',');
    made.size = expect_unsigned();
  }
  result_.module.files.push_back(made);
}

// Skips a section of debug data.
void Parser::section() {
  advance();
  if (token_.kind != TokenKind::dot_word && token_.kind != TokenKind::identifier) syntax_error();
  advance();
  expect('{');
  while (!token_.is('}')) {
    if (token_.kind == TokenKind::end || token_.kind == TokenKind::broken) syntax_error();
    advance();
  }
  advance();
}

void Parser::pragma(std::vector<std::string_view> &into) {
  advance();
  do into.push_back(expect_string());
  while (accept(','));
  expect(';');
}

// Parses `.alias name, aliasee;`.
void Parser::alias() {
  advance();
  const Position position = token_.position;
  const std::string_view name = expect_identifier();
  expect(',');
  const std::string_view aliasee = expect_identifier();
  expect(';');
  const Binding target = find(names_.intern(aliasee));
  if (target.kind != BindingKind::symbol || target.symbol_kind != SymbolKind::function)
    return error(position, "Unknown symbol " + quoted(aliasee));
  // `name` was declared before, as a function without a body.
  result_.module.aliases.push_back({name, target.index});
}

void Parser::function(Linkage linkage, bool is_entry) {
  Function made;
  made.linkage = linkage;
  made.is_entry = is_entry;
  function_header(made);
  made.has_body = token_.is('{');
  function_ = enter_function(std::move(made));
  if (token_.is('{'))
    body();
  else
    expect(';');
  function_ = no_index;
}

// The texts are those of ptxas 13.0.
void Parser::check_parameter_space(const Variable &one, bool is_of_entry) {
  if (one.space == StateSpace::param) return;
  if (is_of_entry)
    error(one.position, "Entry parameter " + quoted(one.name) + " must have .param state space");
  else if (one.space != StateSpace::reg)
    error(one.position, "Function parameter " + quoted(one.name) + " has illegal state space");
}

void Parser::function_header(Function &function) {
  if (accept_word(".attribute")) {
    expect('(');
    if (!accept_word(".unified")) syntax_error();
    expect('(');
    do expect_unsigned();
    while (accept(','));
    expect(')');
    expect(')');
    function.performance.unified = true;
  }
  if (!function.is_entry && token_.is('(')) function.results = parameter_list();
  function.position = token_.position;
  function.name = expect_identifier();
  if (token_.is('(')) function.parameters = parameter_list();
  for (const Variable &one : function.results) check_parameter_space(one, function.is_entry);
  for (const Variable &one : function.parameters) check_parameter_space(one, function.is_entry);
  lay_out_parameters(function);
  while (token_.kind == TokenKind::dot_word)
    if (!performance_directive(function.performance)) syntax_error();
}

bool Parser::performance_directive(Performance &performance) {
  static constexpr struct {
    std::string_view word;
    std::optional<Dimensions> Performance::*value;
  } of_three[] = {{".maxntid", &Performance::maxntid},
                  {".reqntid", &Performance::reqntid},
                  {".reqnctapercluster", &Performance::reqnctapercluster}};
  static constexpr struct {
    std::string_view word;
    std::optional<std::uint32_t> Performance::*value;
  } of_one[] = {{".minnctapersm", &Performance::minnctapersm},
                {".maxnctapersm", &Performance::maxnctapersm},
                {".maxnreg", &Performance::maxnreg},
                {".maxclusterrank", &Performance::maxclusterrank},
                {".abi_preserve", &Performance::abi_preserve},
                {".abi_preserve_control", &Performance::abi_preserve_control}};
  static constexpr struct {
    std::string_view word;
    bool Performance::*value;
  } flags[] = {{".explicitcluster", &Performance::explicitcluster},
               {".blocksareclusters", &Performance::blocksareclusters},
               {".noreturn", &Performance::noreturn}};
  for (const auto &one : of_three)
    if (accept_word(one.word)) return performance.*one.value = dimensions(), true;
  for (const auto &one : of_one)
    if (accept_word(one.word)) return performance.*one.value = expect_u32(), true;
  for (const auto &one : flags)
    if (accept_word(one.word)) return performance.*one.value = true;
  if (!token_.is(".pragma")) return false;
  pragma(performance.pragmas);
  return true;
}

// Parses one to three numbers; the missing ones are 1.
Dimensions Parser::dimensions() {
  Dimensions made = {1, 1, 1};
  std::size_t count = 0;
  do {
    if (count == made.size()) syntax_error();
    made[count++] = expect_u32();
  } while (accept(','));
  return made;
}

// Merges a declaration and its definition into one function, which keeps the definition's header.
std::uint32_t Parser::enter_function(Function &&function) {
  std::vector<Function> &functions = result_.module.functions;
  const NameId name = names_.intern(function.name);
  const Binding known = find(name);
  if (known.kind == BindingKind::none) {
    const auto index = static_cast<std::uint32_t>(functions.size());
    names_.bind(name, {BindingKind::symbol, SymbolKind::function, index});
    functions.push_back(std::move(function));
    return index;
  }
  if (known.symbol_kind != SymbolKind::function) {
    error(function.position, "Duplicate definition of variable " + quoted(function.name));
    functions.push_back(std::move(function));
    return static_cast<std::uint32_t>(functions.size() - 1);
  }
  Function &old = functions[known.index];
  check_redeclaration(old, function);
  if (!old.has_body)
    old = std::move(function);
  else if (function.has_body)
    old.body = {};  // parse the body again, to report its errors
  return known.index;
}

void Parser::check_redeclaration(const Function &old, const Function &now) {
  if (old.has_body && now.has_body)
    error(now.position, "Duplicate definition of function " + quoted(now.name));
  else if (old.is_entry != now.is_entry || old.parameters.size() != now.parameters.size() ||
           old.results.size() != now.results.size())
    error(now.position, "Function " + quoted(now.name) + " not declared identically");
}

ParseResult parse(std::string_view text, const ParseOptions &options) {
  ParseResult result;
  Parser(text, options, result).parse();
  if (result.ok()) count_shared(result.module);
  return result;
}

}  // namespace cushim::ptx
