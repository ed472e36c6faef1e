// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
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
  const std::string_view row = rows.at(symbol);  // "(dptr, bytesize)"
  std::istringstream text{std::string(row.substr(1, row.size() - 2))};
  std::vector<std::string> names;
  for (std::string name; std::getline(text >> std::ws, name, ',');) names.push_back(name);
  return names;
}

}  // namespace detail
}  // namespace arguments
