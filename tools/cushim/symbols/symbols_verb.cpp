// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "symbols/symbols.hpp"

namespace cushim::command {

Verb add_symbols(CLI::App &app) {
  struct Options {
    SymbolFilter filter;
    bool present = false;
    bool missing = false;
    std::string library;
    bool as_json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand(
      "symbols", "List the driver's entry points, and whether this machine's driver has them.");
  verb->add_option("PATTERN", options->filter.pattern,
                   "List only symbols that contain this text or match this glob; case is ignored. "
                   "Default: all symbols.");
  verb->add_option("--since", options->filter.since,
                   "List only entry points introduced in this CUDA release or later. Default: any release.")
      ->transform(release_value());
  verb->add_flag("--per-thread", options->filter.per_thread,
                 "List only the variants for per-thread default streams (_ptds, _ptsz).");
  CLI::Option *present =
      verb->add_flag("--present", options->present, "List only entry points that the driver has.");
  verb->add_flag("--missing", options->missing, "List only entry points that the driver lacks.")
      ->excludes(present);
  add_library_option(*verb, options->library);
  add_json_flag(*verb, options->as_json);
  return {verb, [options] {
            if (options->present || options->missing) options->filter.present = options->present;
            return print(symbols(options->filter, null_if_empty(options->library)), options->as_json);
          }};
}

}  // namespace cushim::command
