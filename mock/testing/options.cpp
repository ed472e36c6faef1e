// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <cstdlib>
#include <string_view>

namespace cushim::testing {

namespace {

Options &stored() {
  static Options options;
  return options;
}

bool number(const std::string &text, int &value) {
  char *end = nullptr;
  const long read = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || read < 0 || read > 1'000'000) return false;
  value = static_cast<int>(read);
  return true;
}

void from_environment(const char *variable, std::string &value) {
  if (const char *text = std::getenv(variable); text != nullptr && *text != '\0') value = text;
}

}  // namespace

std::string parse(int argc, char **argv, Options &options) {
  from_environment("CUSHIM_TEST_DRIVER", options.driver);
  from_environment("CUSHIM_TEST_SUMMARY", options.summary);
  std::string limit = "20";
  std::string file = "-1";
  from_environment("CUSHIM_TEST_LIMIT", limit);

  const struct {
    std::string_view name;
    std::string *value;
  } known[] = {
      {"--driver", &options.driver},
      {"--write-answers", &options.write_answers},
      {"--compare-answers", &options.compare_answers},
      {"--summary", &options.summary},
      {"--limit", &limit},
      {"--cushim-child", &options.child},
      {"--cushim-file", &file},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    bool found = false;
    for (const auto &[name, value] : known) {
      if (!given.starts_with(name)) continue;
      if (given.size() > name.size() && given[name.size()] == '=') {
        *value = given.substr(name.size() + 1);
        found = true;
      } else if (given.size() == name.size()) {
        if (++i == argc) return std::string(name) + " wants a value";
        *value = argv[i];
        found = true;
      }
      if (found) break;
    }
    if (given == "--cushim-fresh") options.is_fresh = found = true;
    if (!found) return "unknown argument " + std::string(given);
  }
  if (!number(limit, options.limit_seconds)) return "--limit wants a number of seconds";
  if (file != "-1" && !number(file, options.child_file)) return "--cushim-file wants a number";
  return "";
}

const Options &options() { return stored(); }
void set_options(const Options &options) { stored() = options; }

}  // namespace cushim::testing
