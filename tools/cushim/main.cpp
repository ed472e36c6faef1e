// SPDX-License-Identifier: Apache-2.0
// The cushim command: parses the command line and runs one verb. Each verb adds its own options.
#include <CLI/CLI.hpp>

#include "check/check.hpp"
#include "common/release.hpp"
#include "ctest_resources/ctest_resources.hpp"
#include "doctor/doctor.hpp"
#include "explain/explain.hpp"
#include "profiles/profiles.hpp"
#include "replay/replay.hpp"
#include "run/run.hpp"
#include "symbols/symbols.hpp"
#include "trace/trace.hpp"

int main(int argc, char **argv) {
  using namespace cushim::command;
  CLI::App app("Diagnoses the NVIDIA driver of this machine, and runs programs on a simulated one.",
               "cushim");
  app.footer("Exit codes: 0 no finding, 1 a finding, 2 a usage error, 3 no driver.");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  const Verb verbs[] = {
      add_doctor(app),          add_symbols(app), add_explain(app), add_check(app), add_run(app),
#ifdef CUSHIM_WITH_SIM
      add_profiles(app),
#endif
#ifdef CUSHIM_WITH_TRACE
      add_replay(app),          add_trace(app),
#endif
      add_ctest_resources(app),
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // --help and --version are reported as errors with exit code 0.
    const bool is_usage_error = app.exit(error) != 0;
    return static_cast<int>(is_usage_error ? Exit::usage : Exit::good);
  }
  for (const Verb &verb : verbs)
    if (verb.subcommand->parsed()) return verb.run();
  return static_cast<int>(Exit::usage);
}
