// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
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
  if (text.empty() || *end != '\0' || read < 0 || read > 10'000'000) return false;
  value = static_cast<int>(read);
  return true;
}

void from_environment(const char *variable, std::string &value) {
  if (const char *text = std::getenv(variable); text != nullptr && *text != '\0') value = text;
}

}  // namespace

const char *const help =
    R"(Tests that run on any CUDA driver. Before GoogleTest's options:

  --driver=NAME          default: the driver that cushim finds; the run is skipped (77) if there is none
                         real: the same without CUSHIM_LIBRARY; none, or a SIMULATED one, is a failure
                         sim: the simulated driver
                         none: no driver but those that the tests make themselves
                         PATH: this library
  --write-answers=PATH   write what the driver answered to this file, or into this folder under a name
                         made of driver, GPU and count
  --compare-answers=FILE fail, with a table, where this driver answers otherwise than the recorded one
  --write-calls=FILE     with --driver=sim: write which entry points it has, and which of them each test had
                         called when it got an answer
  --summary=FILE         write a summary as JSON
  --list-tests           print the tests and what they need, one a line, and run none
  --limit=SECONDS        give up if one test takes longer (20)

Environment: CUSHIM_TEST_DRIVER, CUSHIM_TEST_SUMMARY and CUSHIM_TEST_LIMIT are defaults of the options.
  CUSHIM_TEST_HAS=gpus:2,mem_ops,ipc   what this machine has: to skip a test that needs it is a failure
  CUSHIM_TEST_LABEL=gpu                any driver but the machine's own is a failure
  CTEST_RESOURCE_GROUP_...             the GPUs that CTest allots to the test; it sees no others
  CUSHIM_TEST_SEED=N                   run tests of seeds with this one alone

Exit codes: 0 good, 1 a test failed, or none was executed, 2 wrong use, 77 skipped for want of a driver.
)";

bool asks_for_help(int argc, char **argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](std::string_view word) { return word == "--help" || word == "-h"; });
}

std::string parse(int argc, char **argv, Options &options) {
  from_environment("CUSHIM_TEST_DRIVER", options.driver);
  from_environment("CUSHIM_TEST_SUMMARY", options.summary);
  std::string limit = "20";
  std::string file = "-1";
  std::string parent = "0";
  from_environment("CUSHIM_TEST_LIMIT", limit);
  std::string label;
  from_environment("CUSHIM_TEST_LABEL", label);
  options.is_labelled_gpu = label == "gpu";

  const struct {
    std::string_view name;
    std::string *value;
  } known[] = {
      {"--driver", &options.driver},
      {"--write-answers", &options.write_answers},
      {"--compare-answers", &options.compare_answers},
      {"--write-calls", &options.write_calls},
      {"--summary", &options.summary},
      {"--limit", &limit},
      {"--cushim-child", &options.child},
      {"--cushim-test", &options.test},
      {"--cushim-file", &file},
      {"--cushim-parent", &parent},
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
        if (++i == argc) return std::string(name) + " needs a value";
        *value = argv[i];
        found = true;
      }
      if (found) break;
    }
    if (given == "--cushim-fresh") options.is_fresh = found = true;
    if (given == "--list-tests") options.lists_tests = found = true;
    if (!found) return "unknown argument " + std::string(given);
  }
  if (!number(limit, options.limit_seconds)) return "--limit must be a number of seconds";
  if (!number(parent, options.parent)) return "--cushim-parent must be a number";
  if (file != "-1" && !number(file, options.child_file)) return "--cushim-file must be a number";
  return "";
}

const Options &options() { return stored(); }
void set_options(const Options &options) { stored() = options; }

}  // namespace cushim::testing
