// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "explain/explain.hpp"

namespace cushim::command {

Verb add_explain(CLI::App &app) {
  struct Options {
    std::vector<std::string> words;
    bool as_json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *verb =
      app.add_subcommand("explain", "Print the meaning, usual causes and remedy of a result or diagnosis.");
  verb->add_option("CODE|NAME", options->words,
                   "Driver results or cushim diagnoses: 700, illegal_address, no-driver. Default: list all.");
  add_json_flag(*verb, options->as_json);
  return {verb, [options] { return print(explain(options->words), options->as_json); }};
}

}  // namespace cushim::command
