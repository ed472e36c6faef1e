// SPDX-License-Identifier: Apache-2.0
#include "common/verb.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/release.hpp"

namespace cushim::command {
namespace {

int write(std::FILE *stream, const std::string &text, Exit exit) {
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() || std::fflush(stream) != 0)
    return std::perror("cushim"), static_cast<int>(Exit::finding);
  return static_cast<int>(exit);
}

}  // namespace

CLI::Validator parsed_by(std::optional<int> (*parse)(std::string_view), const std::string &name,
                         const std::string &what) {
  return CLI::Validator(
      [parse, what](std::string &text) {
        const std::optional<int> number = parse(text);
        if (!number) return fmt::format("\"{}\" is not {}", text, what);
        text = std::to_string(*number);
        return std::string();
      },
      name);
}

CLI::Validator release_value() {
  return parsed_by(parse_release, "RELEASE", "a CUDA release; an example is 12.4");
}

void add_json_flag(CLI::App &verb, bool &as_json) {
  verb.add_flag("--json", as_json, "Print JSON. Default: text.");
}

void add_library_option(CLI::App &verb, std::string &library) {
  verb.add_option("--library", library,
                  "Use this driver library. Default: the value of CUSHIM_LIBRARY, otherwise libcuda.so.1.");
}

const char *null_if_empty(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

int print(const Outcome &outcome, bool as_json) {
  // Text from drivers and environment variables may not be UTF-8.
  const std::string text =
      as_json ? outcome.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : outcome.text;
  return write(as_json || outcome.exit != Exit::usage ? stdout : stderr, text, outcome.exit);
}

int print_data(const Outcome &outcome) {
  return write(outcome.exit == Exit::good ? stdout : stderr, outcome.text, outcome.exit);
}

}  // namespace cushim::command
