// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx_text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

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
  Kind kind = Kind::unnamed;  // mergeable: .weak or .common
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
        if (letter == '{') ++braces;
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

}  // namespace cushim::sim
