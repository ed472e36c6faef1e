// SPDX-License-Identifier: Apache-2.0
// The cushim command: parses the command line, runs one verb, prints its result.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "check/check.hpp"
#include "common/release.hpp"
#include "ctest_resources/ctest_resources.hpp"
#include "doctor/doctor.hpp"
#include "explain/explain.hpp"
#include "profiles/profiles.hpp"
#include "run/run.hpp"
#include "symbols/symbols.hpp"

namespace {

using namespace cushim::command;

// Accepts a release, "12.4", and converts it to a version, 12040.
struct ReleaseValidator : CLI::Validator {
  ReleaseValidator() : CLI::Validator("RELEASE") {
    func_ = [](std::string &text) {
      const std::optional<int> version = parse_release(text);
      if (!version) return fmt::format("\"{}\" is no CUDA release such as 12.4", text);
      text = std::to_string(*version);
      return std::string();
    };
  }
};

// Accepts a glibc version, "2.28", and converts it to a number, 2028.
struct GlibcValidator : CLI::Validator {
  GlibcValidator() : CLI::Validator("VERSION") {
    func_ = [](std::string &text) {
      const bool is_version = text.starts_with("2.") && text.size() > 2 && text.size() < 6 &&
                              text.find_first_not_of("0123456789", 2) == std::string::npos;
      if (!is_version) return fmt::format("\"{}\" is no version of glibc such as 2.28", text);
      text = std::to_string(2000 + std::stoi(text.substr(2)));
      return std::string();
    };
  }
};

int write(std::FILE *stream, const std::string &text, Exit exit) {
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() || std::fflush(stream) != 0)
    return std::perror("cushim"), static_cast<int>(Exit::finding);
  return static_cast<int>(exit);
}

int print(const Outcome &outcome, bool as_json) {
  // Text from drivers and environment variables may not be UTF-8.
  const std::string text =
      as_json ? outcome.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : outcome.text;
  return write(as_json || outcome.exit != Exit::usage ? stdout : stderr, text, outcome.exit);
}

// Prints the result of a verb whose output another program reads: errors go to standard error.
int print_data(const Outcome &outcome) {
  return write(outcome.exit == Exit::good ? stdout : stderr, outcome.text, outcome.exit);
}

const char *or_null(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

int main(int argc, char **argv) {
  CLI::App app("Looks at the NVIDIA driver of this machine through cushim, and explains what it says.",
               "cushim");
  app.footer("Exit codes: 0 good, 1 a finding, 2 usage, 3 no driver.");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  bool as_json = false;
  std::string library;

  DoctorOptions doctor_options;
  CLI::App *doctor =
      app.add_subcommand("doctor", "What driver there is, what it serves, what is wrong with it");
  doctor
      ->add_option("--at-least", doctor_options.at_least, "It is a problem if the driver is older than this")
      ->transform(ReleaseValidator());

  SymbolFilter filter;
  bool missing = false;
  bool present = false;
  CLI::App *symbols_verb = app.add_subcommand("symbols", "Entry points, and whether this driver has them");
  symbols_verb->add_option("PATTERN", filter.pattern, "A part of the symbol, or a glob for all of it");
  symbols_verb->add_option("--since", filter.since, "Only those of this release or later")
      ->transform(ReleaseValidator());
  symbols_verb->add_flag("--per-thread", filter.per_thread, "Only variants for per-thread default streams");
  CLI::Option *present_flag = symbols_verb->add_flag("--present", present, "Only those that the driver has");
  symbols_verb->add_flag("--missing", missing, "Only those that the driver lacks")->excludes(present_flag);

  std::vector<std::string> words;
  CLI::App *explain_verb =
      app.add_subcommand("explain", "What a result or diagnosis means, its causes, what to do");
  explain_verb->add_option("CODE|NAME", words,
                           "700, illegal_address, no-driver; all are listed if there is none");

  CheckOptions check_options;
  CLI::App *check_verb = app.add_subcommand("check", "What programs and libraries ask of the machine");
  check_verb
      ->add_option("PATH", check_options.paths, "Programs, libraries, directories, wheels, Debian packages")
      ->required();
  check_verb
      ->add_option("--max-driver", check_options.max_driver,
                   "It is a finding if a newer driver than this is needed")
      ->transform(ReleaseValidator());
  check_verb
      ->add_option("--max-glibc", check_options.max_glibc,
                   "It is a finding if a newer glibc than this is needed")
      ->transform(GlibcValidator());
  check_verb->add_option("--forbid", check_options.forbid, "It is a finding if a file has this")
      ->allow_extra_args(false)  // so that a path may follow
      ->check(CLI::IsMember(forbidden_things()));

  RunOptions run_options;
  CLI::App *run_verb =
      app.add_subcommand("run", "Start a program on the SIMULATED driver: cushim run -- PROGRAM ARGS...");
  run_verb->add_option("--devices", run_options.devices, "Which devices there are: h200, h200x2, ...");
  run_verb->add_option("--driver-version", run_options.driver_version,
                       "The CUDA version of the driver: 11.8, 12.4, ...; it lacks what came later");
  run_verb->add_option("--schedule", run_options.schedule,
                       "When work runs: background (if not said), eager, deferred or seeded");
  run_verb->add_option("--seed", run_options.seed, "Of the seeded schedule");
  run_verb->add_option(
      "--faults", run_options.faults,
      "What is to go wrong: cuMemAlloc:3=OUT_OF_MEMORY, cuEvent*:p0.01@seed7=LAUNCH_FAILED, "
      "memory:2GiB, device0:lost@1.5ms; several with ; between, or @FILE (docs/guide/faults.md)");
  run_verb->add_option("--report", run_options.report,
                       "Say what each process did: a file (%p is the process), or stderr");
  run_verb->add_option("--check", run_options.check,
                       "Look for faults of the program, and report them: leaks,misuse,hazards,deadlock "
                       "(docs/guide/checkers.md)");
  run_verb
      ->add_option("--error-exitcode", run_options.error_exit,
                   "Exit with this if a process leaves something alive, calls what is not implemented, or a "
                   "checker found something")
      ->check(CLI::Range(1, 255));
  run_verb->add_flag("--require-driver", run_options.requires_driver,
                     "Fail with 3, and say why, if no process opens the simulated driver");
  run_verb->add_option("--library", run_options.library, "The folder of another simulated libcuda.so.1");
  run_verb->add_option("PROGRAM", run_options.program, "The program and its arguments")->required();
  run_verb->positionals_at_end();

#ifdef CUSHIM_WITH_SIM
  std::string description;
  CLI::App *profiles_verb = app.add_subcommand("profiles", "The devices that the simulated driver knows");
  profiles_verb->add_option("NAME", description, "Everything of this machine: h200, h200x2,l4, mine.json");
  profiles_verb->add_flag("--json", as_json, "Print JSON instead of text");
#endif

  ResourceOptions resource_options;
  CLI::App *resources_verb = app.add_subcommand(
      "ctest-resources", "The GPUs of the driver as CTest wants them told: ctest --resource-spec-file FILE");
  resources_verb
      ->add_option("--slots", resource_options.slots, "How many tests a GPU runs at once: 1 if not said")
      ->check(CLI::Range(1, 1000));
  resources_verb->add_option("--output", resource_options.output, "The file to write, else standard output");

  for (CLI::App *verb : {doctor, symbols_verb, resources_verb})
    verb->add_option("--library", library, "Look at this library instead of the default driver");
  for (CLI::App *verb : {doctor, symbols_verb, explain_verb, check_verb})
    verb->add_flag("--json", as_json, "Print JSON instead of text");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error);
    return static_cast<int>(asked ? Exit::good : Exit::usage);
  }

  if (doctor->parsed()) {
    doctor_options.library = or_null(library);
    return print(report(examine(doctor_options)), as_json);
  }
  if (symbols_verb->parsed()) {
    if (present || missing) filter.present = present;
    return print(symbols(filter, or_null(library)), as_json);
  }
  if (resources_verb->parsed()) {
    doctor_options.library = or_null(library);
    return print_data(ctest_resources(examine(doctor_options), resource_options));
  }
  if (run_verb->parsed()) return print(run(run_options), false);
  if (check_verb->parsed()) return print(report(check(check_options)), as_json);
#ifdef CUSHIM_WITH_SIM
  if (profiles_verb->parsed()) return print(profiles(description), as_json);
#endif
  return print(explain(words), as_json);
}
