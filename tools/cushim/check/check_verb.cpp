// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "check/check.hpp"

namespace cushim::command {

Verb add_check(CLI::App &app) {
  struct Options {
    CheckOptions check;
    bool as_json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand(
      "check", "Report what programs and libraries require of the machine that they run on.");
  verb->add_option("PATH", options->check.paths,
                   "ELF programs and libraries, wheels, Debian packages; directories are searched.")
      ->required();
  verb->add_option(
          "--max-driver", options->check.max_driver,
          "Report a file as a finding if it needs a driver newer than this CUDA release. Default: no limit.")
      ->transform(release_value());
  verb->add_option("--max-glibc", options->check.max_glibc,
                   "Report a file as a finding if it needs a newer glibc than this. Default: no limit.")
      ->transform(parsed_by(parse_glibc, "VERSION", "a glibc version; an example is 2.28"));
  verb->add_option("--forbid", options->check.forbid,
                   "Report a file as a finding if it has this property. May be repeated. Default: none.")
      ->allow_extra_args(false)  // so that a path may follow
      ->check(CLI::IsMember(forbidden_properties()));
  add_json_flag(*verb, options->as_json);
  return {verb, [options] { return print(report(check(options->check)), options->as_json); }};
}

}  // namespace cushim::command
