// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "profiles/profiles.hpp"

namespace cushim::command {

Verb add_profiles(CLI::App &app) {
  struct Options {
    std::string machine;
    bool as_json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand("profiles", "List the devices that the simulated driver supports.");
  verb->add_option("MACHINE", options->machine,
                   "Print all values of the devices of this machine: h200, h200x2,l4, mine.json. "
                   "Default: one line for each built-in device.");
  add_json_flag(*verb, options->as_json);
  return {verb, [options] { return print(profiles(options->machine), options->as_json); }};
}

}  // namespace cushim::command
