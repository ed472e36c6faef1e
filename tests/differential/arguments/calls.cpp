// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace arguments {

Call &Call::without(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto is_left_out = [name](const Change &change) {
      return name.ends_with('*') ? change.name.starts_with(name.substr(0, name.size() - 1))
                                 : change.name == name;
    };
    std::size_t count = 0;
    for (Argument &argument : arguments) count += std::erase_if(argument.changes, is_left_out);
    if (count == 0) throw std::logic_error(fmt::format("{} has no change {}", this->name, name));
  }
  return *this;
}

namespace detail {

std::vector<std::string> parameter_names(std::string_view symbol) {
  static const std::map<std::string_view, std::string_view> rows{
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) {#symbol, #arguments},
#include <cushim/entry_points.inc>
      // clang-format on
  };
  std::string_view text = rows.at(symbol);  // "(dptr, bytesize)"
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return names;
}

}  // namespace detail
}  // namespace arguments
