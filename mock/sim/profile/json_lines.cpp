// SPDX-License-Identifier: Apache-2.0
#include "profile/json_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

namespace cushim::sim {

namespace {

using Json = nlohmann::json;

// An iterator that counts the lines it has read.
struct Counting {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  const char *at;
  int *line;

  reference operator*() const { return *at; }
  Counting &operator++() {
    if (*at++ == '\n') ++*line;
    return *this;
  }
  Counting operator++(int) {
    const Counting before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Counting &other) const { return at == other.at; }
  bool operator!=(const Counting &other) const { return at != other.at; }
};

// Records the line of each member and element; steps_ is the path to the current value.
class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(JsonLines &found, const int &line) : found_(found), line_(line) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t &) override { return value(); }
  bool string(string_t &) override { return value(); }
  bool binary(binary_t &) override { return value(); }
  bool start_object(std::size_t) override { return start(false); }
  bool start_array(std::size_t) override { return start(true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t &name) override {
    steps_.back().name = name;
    record_line();
    return true;
  }
  bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override {
    return false;
  }

 private:
  struct Step {
    bool is_array;
    int index;
    std::string name;
  };

  std::string pointer() const {
    std::string text;
    for (const Step &step : steps_) text += "/" + (step.is_array ? std::to_string(step.index) : step.name);
    return text;
  }

  void record_line() {
    const bool is_new = found_.lines.emplace(pointer(), line_).second;
    if (is_new || !found_.duplicate.empty()) return;
    found_.duplicate = pointer();
    found_.duplicate_line = line_;
  }

  // The line of an object or array is that of its first character. A number at the end of a line gets the
  // next line, since the parser reads one character more. Keys are not affected.
  void element() {
    if (steps_.empty() || !steps_.back().is_array) return;
    ++steps_.back().index;
    record_line();
  }

  bool value() {
    element();
    return true;
  }
  bool start(bool is_array) {
    element();
    steps_.push_back({is_array, -1, ""});
    return true;
  }
  bool end() {
    steps_.pop_back();
    return true;
  }

  JsonLines &found_;
  const int &line_;
  std::vector<Step> steps_;
};

}  // namespace

int JsonLines::line(std::string pointer) const {
  for (;; pointer.erase(pointer.rfind('/'))) {
    if (pointer.empty()) return 1;
    if (const auto found = lines.find(pointer); found != lines.end()) return found->second;
  }
}

JsonLines json_lines(std::string_view text) {
  JsonLines found;
  int line = 1;
  Handler handler(found, line);
  Json::sax_parse(Counting{text.data(), &line}, Counting{text.data() + text.size(), &line}, &handler);
  return found;
}

int line_of_byte(std::string_view text, std::size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

}  // namespace cushim::sim
