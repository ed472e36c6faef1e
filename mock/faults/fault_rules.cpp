// SPDX-License-Identifier: Apache-2.0
#include <cushim/faults/fault_rules.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <cushim/error.hpp>

#include <cushim/detail/nearest.hpp>
#include "rule_names.hpp"

namespace cushim::mock {
namespace {

using Words = std::vector<std::string>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
bool is_of_pattern(char c) { return is_of_word(c) || c == '*' || c == '?'; }
bool is_of_number(char c) { return is_digit(c) || c == '.'; }

struct Unit {
  const char *name;
  double size;
};
constexpr Unit kSizes[] = {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

class Reader {
 public:
  Reader(std::string_view text, const std::string &origin) : text_(text), origin_(origin) {}

  FaultRules rules() {
    FaultRules rules;
    while (skip_to_rule()) {
      const std::size_t begin = at_;
      FaultRule rule = this->rule();
      skip_blanks();
      if (at_ < text_.size() && !is_end_of_rule(text_[at_]))
        fail(at_, "the rule ends here, but " + found() + " follows; separate rules by ; or a new line");
      std::string_view text = text_.substr(begin, at_ - begin);
      while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
      rule.text = text;
      rule.line = line_;
      rule.column = column(begin);
      rules.push_back(std::move(rule));
    }
    return rules;
  }

 private:
  static bool is_end_of_rule(char c) { return c == ';' || c == '\n' || c == '\r' || c == '#'; }

  // ---- Rules ----

  FaultRule rule() {
    const std::size_t begin = at_;
    const std::string_view subject = take(&is_of_pattern);
    if (subject.empty())
      fail(begin, "a rule begins with a function, \"memory\" or \"deviceN\", not with " + found());
    if (subject == "memory") {
      expect(':', "a size, as in memory:2GiB");
      return of(MemoryLimit{std::nullopt, size()});
    }
    if (subject.starts_with("device") && subject.find_first_not_of("0123456789", 6) == subject.npos)
      return device(begin, subject.substr(6));
    CallFault fault;
    if (subject.size() <= kMostOfWord) fault.slots = rows_of(subject);
    if (fault.slots.empty()) fail_unknown(begin, "function", subject, base_names());
    expect(':', "a call number or probability, as in " + std::string(subject) + ":3=OUT_OF_MEMORY");
    fault.when = when();
    expect('=', "a result, as in =OUT_OF_MEMORY");
    fault.result = result();
    fault.is_sticky = is_sticky(fault.result);
    while (skip(',')) modifier(fault);
    return of(std::move(fault));
  }

  FaultRule device(std::size_t begin, std::string_view number) {
    if (number.empty()) fail(begin, "\"device\" needs a number, as in device0:lost@1.5ms");
    if (number.size() > 2) fail(begin, "there is no device " + quoted(number) + "; a machine has at most 64");
    int index = 0;
    for (const char digit : number) index = index * 10 + (digit - '0');
    expect(':', "\"lost\" or \"memory\", as in device0:lost@1.5ms");
    skip_blanks();
    const std::size_t at = at_;
    const std::string_view what = take(&is_of_word);
    if (what == "memory") {
      expect(':', "a size, as in device0:memory:2GiB");
      return of(MemoryLimit{index, size()});
    }
    if (what != "lost") fail_unknown(at, "device rule", what, {"lost", "memory"});
    expect('@', "a virtual time, as in device0:lost@1.5ms, or a call, as in device0:lost@call100");
    DeviceLoss loss;
    loss.device = index;
    loss.at = moment();
    if (skip('=')) loss.result = result();
    return of(loss);
  }

  static FaultRule of(auto what) {
    FaultRule rule;
    rule.what = std::move(what);
    return rule;
  }

  // Parses which calls fail: 3, 3-5, 3+, * or p0.01@seed7.
  std::variant<CountedCalls, RandomCalls> when() {
    skip_blanks();
    if (skip('*')) return CountedCalls{};
    if (skip('p')) return random();
    if (at_ >= text_.size() || !is_digit(text_[at_]))
      fail(at_, "the call must be a number (3, 3-5, 3+), * for all, or a probability (p0.01@seed7), not " +
                    found());
    const std::size_t begin = at_;
    CountedCalls counted;
    counted.first = counted.last = integer("the number of a call");
    if (counted.first == 0) fail(begin, "call numbers start at 1");
    if (skip('+')) {
      counted.last = CountedCalls{}.last;
    } else if (skip('-')) {
      counted.last = integer("the number of the last call");
      if (counted.last < counted.first) fail(begin, "the last call number is less than the first");
    }
    return counted;
  }

  RandomCalls random() {
    RandomCalls random;
    const std::size_t begin = at_;
    random.probability = real("a probability after p, as in p0.01");
    if (random.probability <= 0 || random.probability > 1)
      fail(begin, "a probability must be greater than 0 and at most 1");
    if (!skip('@')) return random;
    skip_blanks();
    const std::size_t at = at_;
    const std::string_view word = take(&is_letter);
    if (word != "seed") fail_unknown(at, "word after a probability's @", word, {"seed"});
    random.seed = integer("the number of a seed, as in seed7");
    return random;
  }

  CUresult result() {
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view word = take(&is_of_word);
    if (word.empty())
      fail(begin, "a result must be a name, as in OUT_OF_MEMORY, or a number, not " + found());
    if (word == "SUCCESS" || word == "CUDA_SUCCESS" || word == "0")
      fail(begin, "a fault cannot return CUDA_SUCCESS; name an error");
    const bool is_number = std::ranges::all_of(word, is_digit);
    for (int code = 1; code <= 999; ++code) {
      const std::string_view name = name_of(static_cast<CUresult>(code));
      if (name.empty()) continue;
      const std::string_view rest = name.starts_with(kErrorPrefix) ? name.substr(kErrorPrefix.size()) : name;
      if (word == name || word == rest || (is_number && word == std::to_string(code)))
        return static_cast<CUresult>(code);
    }
    std::string_view rest = word;
    if (rest.starts_with(kErrorPrefix)) rest.remove_prefix(kErrorPrefix.size());
    fail_unknown(begin, "result", rest, result_names());
  }

  void modifier(CallFault &fault) {
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view word = take(&is_of_word);
    if (word == "late")
      fault.is_late = true;
    else if (word == "once")
      fault.is_sticky = false;
    else if (word == "sticky")
      fault.is_sticky = true;
    else
      fail_unknown(begin, "word after a comma", word, {"late", "once", "sticky"});
  }

  std::uint64_t size() {
    skip_blanks();
    const std::size_t begin = at_;
    const double bytes = with_unit("a size, as in 2GiB", kSizes, "B");
    if (bytes < 1) fail(begin, "a size must be at least 1 byte");
    if (bytes >= 0x1p63) fail(begin, "the size is too large");
    return static_cast<std::uint64_t>(bytes);
  }

  std::variant<std::chrono::nanoseconds, std::uint64_t> moment() {
    skip_blanks();
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_letter(text_[at_])) {
      const std::string_view word = take(&is_letter);
      if (word != "call") fail_unknown(begin, "moment", word, {"call"});
      const std::uint64_t call = integer("the number of a call, as in call100");
      if (call == 0) fail(begin, "call numbers start at 1");
      return call;
    }
    const double time = with_unit("a virtual time, as in 1.5ms, or a call, as in call100", kTimes, nullptr);
    if (time >= 0x1p62) fail(begin, "the time is too long");
    return std::chrono::nanoseconds(static_cast<std::int64_t>(time));
  }

  // ---- Words and numbers ----

  std::uint64_t integer(const std::string &what) {
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view digits = take(&is_digit);
    if (digits.empty()) fail(begin, "expected " + what + ", but found " + found());
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) fail(begin, "the number is too large");
    return value;
  }

  double real(const std::string &what) {
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view digits = take(&is_of_number);
    double value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
        !std::isfinite(value))
      fail(begin, "expected " + what + ", but found " + (digits.empty() ? found() : quoted(digits)));
    return value;
  }

  // Parses a number and a unit. Without a unit, by_default applies; if that is null, a unit is required.
  double with_unit(const std::string &what, const auto &units, const char *by_default) {
    const double number = real(what);
    skip_blanks();
    const std::size_t begin = at_;
    std::string_view word = take(&is_letter);
    if (word.empty() && by_default != nullptr) word = by_default;
    Words names;
    for (const Unit &unit : units) {
      if (word == unit.name) return number * unit.size;
      names.emplace_back(unit.name);
    }
    fail_unknown(begin, "unit", word, names);
  }

  std::string_view take(bool (*is_of_it)(char)) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_it(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool skip(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted, const std::string &then) {
    if (skip(wanted)) return;
    fail(at_, std::string("expected \"") + wanted + "\" and " + then + ", but found " + found());
  }

  // Skips blanks, separators and comments; returns false at the end of the text.
  bool skip_to_rule() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c != ' ' && c != '\t' && !is_end_of_rule(c))
        return true;
      else if (++at_, c == '\n')
        ++line_, line_begin_ = at_;
    }
    return false;
  }

  // ---- Errors ----

  static std::string quoted(std::string_view token) {
    std::string text = "\"";
    for (const char c : token.substr(0, kMostOfWord)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + (token.size() > kMostOfWord ? "...\"" : "\"");
  }

  // Describes the text at the current position.
  std::string found() const {
    if (at_ >= text_.size()) return "the end";
    return text_[at_] == '\n' || text_[at_] == '\r' ? "the end of the line" : quoted(text_.substr(at_, 1));
  }

  // A rule does not span lines.
  std::size_t column(std::size_t at) const { return at - line_begin_ + 1; }

  [[noreturn]] void fail(std::size_t at, const std::string &what) const {
    throw std::invalid_argument(origin_ + ":" + std::to_string(line_) + ":" + std::to_string(column(at)) +
                                ": " + what);
  }

  [[noreturn]] void fail_unknown(std::size_t at, const std::string &what, std::string_view word,
                                 const Words &valid) const {
    fail(at, "there is no " + what + " " + quoted(word) + "; did you mean \"" +
                 nearest(word.substr(0, kMostOfWord), valid) + "\"?");
  }

  static constexpr std::size_t kMostOfWord = 80;

  const std::string_view text_;
  const std::string &origin_;
  std::size_t at_ = 0;
  std::size_t line_ = 1, line_begin_ = 0;
};

}  // namespace

FaultRules parse_fault_rules(std::string_view text, const std::string &origin) {
  return Reader(text, origin).rules();
}

FaultRules read_fault_rules(const std::string &text_or_file) {
  if (!text_or_file.starts_with('@')) return parse_fault_rules(text_or_file);
  const std::string name = text_or_file.substr(1);
  std::ifstream file(name);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) throw std::invalid_argument("cannot read the fault rules in " + name);
  return parse_fault_rules(text, name);
}

bool is_sticky(CUresult result) noexcept {
  switch (static_cast<int>(result)) {
    case 226:  // CONTAINED
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
    case 810:  // MPS_CLIENT_TERMINATED
    case 911:  // EXTERNAL_DEVICE
      return true;
    default:
      return false;
  }
}

}  // namespace cushim::mock
