// SPDX-License-Identifier: Apache-2.0
// Reads values of a JSON file. Errors name the file and the line.
#pragma once

#include <cushim/detail/nearest.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "profile/json_lines.hpp"

namespace cushim::sim {

// A JSON value with its location in the file.
class JsonValue {
 public:
  JsonValue(const nlohmann::json &json, std::string pointer, const JsonLines &lines,
            const std::string &origin)
      : json_(json), pointer_(std::move(pointer)), lines_(lines), origin_(origin) {}

  [[noreturn]] void fail(const std::string &what) const {
    throw std::invalid_argument(origin_ + ":" + std::to_string(lines_.line(pointer_)) + ": " + what);
  }

  bool is_text() const { return json_.is_string(); }
  bool has(const char *key) const { return json_.contains(key); }
  std::string name() const {
    return pointer_.empty() ? "the file" : pointer_.substr(pointer_.rfind('/') + 1);
  }

  JsonValue at(const std::string &key) const {
    return {json_.at(key), pointer_ + "/" + key, lines_, origin_};
  }

  // Visits the members of an object; fails for a key that is not in `valid`.
  template <class Each>
  void members(const std::vector<std::string> &valid, Each &&each) const {
    need(json_.is_object(), "an object");
    for (const auto &[key, value] : json_.items()) {
      const JsonValue member(value, pointer_ + "/" + key, lines_, origin_);
      if (std::find(valid.begin(), valid.end(), key) == valid.end())
        member.fail("there is no \"" + key + "\" in " + name() + "; did you mean \"" +
                    mock::nearest(key, valid) + "\"?");
      each(key, member);
    }
  }

  std::vector<JsonValue> elements() const {
    need(json_.is_array(), "a list");
    std::vector<JsonValue> all;
    for (std::size_t i = 0; i < json_.size(); ++i)
      all.emplace_back(json_[i], pointer_ + "/" + std::to_string(i), lines_, origin_);
    return all;
  }

  std::string text() const {
    need(json_.is_string() && !json_.get_ref<const std::string &>().empty(), "a non-empty string");
    return json_;
  }
  bool truth() const {
    need(json_.is_boolean(), "true or false");
    return json_;
  }
  std::int64_t integer(std::int64_t from, std::int64_t to) const {
    need(json_.is_number_integer(), "an integer");
    const bool is_huge = json_.is_number_unsigned() &&
                         json_.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (is_huge || json_.get<std::int64_t>() < from || json_.get<std::int64_t>() > to)
      fail(name() + " is " + json_.dump() + ", but must be from " + std::to_string(from) + " to " +
           std::to_string(to));
    return json_;
  }
  double positive() const {
    need(json_.is_number(), "a number");
    if (json_.get<double>() <= 0) fail(name() + " is " + json_.dump() + ", but must be above 0");
    return json_;
  }
  // Returns the index of the value in `valid`.
  std::size_t word(const std::vector<std::string> &valid) const {
    const auto found = std::find(valid.begin(), valid.end(), text());
    if (found == valid.end())
      fail(name() + " cannot be \"" + text() + "\"; did you mean \"" + mock::nearest(text(), valid) + "\"?");
    return static_cast<std::size_t>(found - valid.begin());
  }

 private:
  void need(bool is_so, const char *what) const {
    if (!is_so) fail(name() + " is " + json_.dump() + ", but must be " + what);
  }

  const nlohmann::json &json_;
  std::string pointer_;
  const JsonLines &lines_;
  const std::string &origin_;
};

}  // namespace cushim::sim
