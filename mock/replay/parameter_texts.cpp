// SPDX-License-Identifier: Apache-2.0
#include "parameter_texts.hpp"

#include <cushim/driver.hpp>

#include <string_view>

namespace cushim::replay {
namespace {

constexpr const char *kParameters[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) #parameters,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) "",
#include <cushim/entry_points.inc>
    // clang-format on
};

void trim(std::string_view &text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with(' ')) text.remove_prefix(1);
}

}  // namespace

std::string parameter_type(int slot, std::size_t parameter) {
  std::string_view text = kParameters[slot];
  text.remove_prefix(1);  // "(CUevent *phEvent, unsigned int Flags)"
  for (; parameter > 0; --parameter) text.remove_prefix(text.find(',') + 1);
  text = text.substr(0, text.find_first_of(",)"));
  trim(text);
  text = text.substr(0, text.find_last_of(" *") + 1);
  trim(text);
  return std::string(text);
}

std::string pointee_type(int slot, std::size_t parameter) {
  const std::string type = parameter_type(slot, parameter);
  std::string_view text = std::string_view(type).substr(0, type.rfind('*'));
  trim(text);
  constexpr std::string_view kConst = "const";
  if (text.starts_with("const ") && text.find('*') == std::string_view::npos) text.remove_prefix(6);
  if (text.ends_with(kConst)) text.remove_suffix(kConst.size());
  trim(text);
  return std::string(text);
}

}  // namespace cushim::replay
