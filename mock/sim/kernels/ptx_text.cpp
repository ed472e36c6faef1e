// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx_text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace cushim::sim {

namespace {

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '$' ||
         letter == '%';
}

// A declaration of module scope, or a part of the text that declares no name.
struct Statement {
  enum class Kind { header, unnamed, external, mergeable, visible, internal };

  std::string_view text;  // with the blanks and comments before it
  std::string_view name;
  Kind kind = Kind::unnamed;                  // mergeable: .weak or .common
  std::size_t body = std::string_view::npos;  // of a function: the position of its first brace in `text`
};

// Reads a module statement by statement.
class Statements {
 public:
  explicit Statements(std::string_view text) : text_(text) {}

  bool next(Statement &statement) {
    const std::size_t begin = at_;
    std::vector<std::string_view> words;  // outside of parentheses, up to the name
    int braces = 0, parentheses = 0;
    bool has_initializer = false;
    statement = {};
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (const std::size_t end = end_of_comment_or_string(); end != at_) {
        at_ = end;
      } else if (braces == 0 && parentheses == 0 && statement.name.empty() &&
                 (letter == '.' || is_word(letter))) {
        const std::size_t first = at_++;
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        const std::string_view word = text_.substr(first, at_ - first);
        words.push_back(word);
        if (words.front() == ".version" || words.front() == ".target" || words.front() == ".address_size" ||
            words.front() == ".file") {
          at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
          if (words.front() != ".file") statement.kind = Statement::Kind::header;
          break;
        }
        const bool is_number = std::isdigit(static_cast<unsigned char>(letter)) != 0;
        if (letter != '.' && !is_number) statement.name = word;
      } else {
        ++at_;
        if (letter == '(') ++parentheses;
        if (letter == ')') --parentheses;
        if (letter == '=' && braces == 0) has_initializer = true;
        if (letter == '{' && braces++ == 0 && !has_initializer) statement.body = at_ - 1 - begin;
        if (letter == '}') --braces;
        if (braces == 0 && (letter == ';' || (letter == '}' && !has_initializer))) break;
      }
    }
    statement.text = text_.substr(begin, at_ - begin);
    if (!statement.name.empty()) statement.kind = kind_of(words);
    return !statement.text.empty();
  }

 private:
  std::size_t end_of_comment_or_string() const {
    const std::string_view rest = text_.substr(at_);
    const auto after = [&](std::string_view end, std::size_t from) {
      const std::size_t found = text_.find(end, at_ + from);
      return found != std::string_view::npos ? found + end.size() : text_.size();
    };
    if (rest.starts_with("//")) return after("\n", 2);
    if (rest.starts_with("/*")) return after("*/", 2);
    if (rest.starts_with('"')) return after("\"", 1);
    return at_;
  }
  static Statement::Kind kind_of(const std::vector<std::string_view> &words) {
    const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
    const bool declares = has(".func") || has(".entry") || has(".global") || has(".const") || has(".shared");
    if (!declares) return Statement::Kind::unnamed;  // .section, .pragma, .alias
    if (has(".extern")) return Statement::Kind::external;
    if (has(".weak") || has(".common")) return Statement::Kind::mergeable;
    return has(".visible") ? Statement::Kind::visible : Statement::Kind::internal;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Returns the names of a module. A name may be declared before it is defined; the kinds agree then.
std::map<std::string, Statement::Kind, std::less<>> names_of(std::string_view ptx) {
  std::map<std::string, Statement::Kind, std::less<>> names;
  Statements statements(ptx);
  for (Statement one; statements.next(one);)
    if (!one.name.empty() && one.kind != Statement::Kind::unnamed) {
      const auto [place, is_new] = names.emplace(one.name, one.kind);
      if (!is_new && place->second == Statement::Kind::external) place->second = one.kind;
    }
  return names;
}

// Returns the text with another name for a symbol.
std::string renamed(std::string_view ptx, std::string_view name, std::string_view to) {
  std::string text;
  for (std::size_t at = 0; at < ptx.size();) {
    std::size_t end = at;
    while (end < ptx.size() && is_word(ptx[end])) ++end;
    if (end == at) {
      text += ptx[at++];
    } else {
      const std::string_view word = ptx.substr(at, end - at);
      text += word == name ? to : word;
      at = end;
    }
  }
  return text;
}

// Returns a name that neither text contains.
std::string new_name(std::string_view name, std::string_view one, std::string_view other) {
  for (unsigned i = 2;; ++i) {
    const std::string made = std::string(name) + "$" + std::to_string(i);
    if (one.find(made) == std::string_view::npos && other.find(made) == std::string_view::npos) return made;
  }
}

// Returns the first word after a directive of the header: sm_90 of .target.
std::string_view header_word(std::string_view ptx, std::string_view directive) {
  Statements statements(ptx);
  for (Statement one; statements.next(one);) {
    if (one.kind != Statement::Kind::header) continue;
    const std::size_t at = one.text.rfind(directive);  // after comments
    if (at == std::string_view::npos) continue;
    const std::string_view rest = one.text.substr(at + directive.size());
    const std::size_t first = std::min(rest.find_first_not_of(" \t"), rest.size());
    const std::string_view word = rest.substr(first);
    return word.substr(0, word.find_first_of(" \t\r\n,/"));
  }
  return {};
}

// Returns the numbers in a word for comparison, then the word: {9, 0} for 9.0, {90} for sm_90a.
auto ordered(std::string_view word) {
  std::vector<unsigned> numbers;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(word[i])) == 0) continue;
    if (i == 0 || std::isdigit(static_cast<unsigned char>(word[i - 1])) == 0) numbers.push_back(0);
    numbers.back() = numbers.back() * 10 + static_cast<unsigned>(word[i] - '0');
  }
  return std::pair(numbers, word);
}

void raise_header(std::string &module, std::string_view added, std::string_view directive) {
  const std::string_view old = header_word(module, directive), other = header_word(added, directive);
  if (old.empty() || other.empty() || ordered(other) <= ordered(old)) return;
  module.replace(static_cast<std::size_t>(old.data() - module.data()), old.size(), std::string(other));
}

}  // namespace

bool is_ptx(std::string_view text) {
  while (!text.empty()) {
    if (std::string_view(" \t\r\n").find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
    } else if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.size(), text.find('\n')));
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/");
      if (end == std::string_view::npos) return false;
      text.remove_prefix(end + 2);
    } else {
      return text.starts_with(".version");
    }
  }
  return false;
}

void append_ptx(std::string &module, std::string_view ptx) {
  std::string added(ptx.substr(0, ptx.find('\0')));
  if (module.empty()) {
    module = added + '\n';
    return;
  }
  raise_header(module, added, ".version");
  raise_header(module, added, ".target");
  auto names = names_of(module);
  for (const auto &[name, kind] : names_of(added)) {
    const auto known = names.find(name);
    if (known == names.end()) continue;
    if (kind == Statement::Kind::internal)
      added = renamed(added, name, new_name(name, module, added));
    else if (known->second == Statement::Kind::internal)
      module = renamed(module, name, new_name(name, module, added));
  }
  names = names_of(module);
  Statements statements(added);
  for (Statement one; statements.next(one);) {
    const auto known = names.find(one.name);
    const bool is_defined = known != names.end() && known->second != Statement::Kind::external;
    if (one.kind == Statement::Kind::header || (one.kind == Statement::Kind::mergeable && is_defined))
      continue;
    module += one.text;
  }
  module += '\n';
}

std::string with_register_limit(std::string_view ptx, unsigned max_registers) {
  const std::string limit = ".maxnreg " + std::to_string(max_registers) + "\n";
  std::string text;
  Statements statements(ptx);
  for (Statement one; statements.next(one);) {
    const std::string_view head = one.text.substr(0, one.body);
    const bool is_limited =
        one.body != std::string_view::npos && head.find(".entry") != std::string_view::npos &&
        head.find(".maxntid") == std::string_view::npos && head.find(".maxnreg") == std::string_view::npos;
    text += is_limited ? std::string(head) + limit : head;
    if (one.body != std::string_view::npos) text += one.text.substr(one.body);
  }
  return text;
}

std::string with_traps(std::string_view ptx, const std::vector<std::string> &functions) {
  std::string text;
  Statements statements(ptx);
  for (Statement one; statements.next(one);) {
    std::string kept(one.text);
    const std::size_t at = kept.find(".extern");
    if (one.kind == Statement::Kind::external && at != std::string::npos && kept.ends_with(';') &&
        std::ranges::find(functions, one.name) != functions.end()) {
      kept.erase(at, std::string_view(".extern").size());
      kept.back() = ' ';
      kept += "{ trap; }\n";
    }
    text += kept;
  }
  return text;
}

}  // namespace cushim::sim
