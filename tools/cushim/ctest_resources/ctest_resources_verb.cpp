// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "ctest_resources/ctest_resources.hpp"
#include "doctor/doctor.hpp"

namespace cushim::command {

Verb add_ctest_resources(CLI::App &app) {
  struct Options {
    ResourceOptions resources;
    std::string library;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *verb =
      app.add_subcommand("ctest-resources",
                         "Write a CTest resource specification file (ctest --resource-spec-file) that lists "
                         "the GPUs of the driver.");
  verb->add_option("--slots", options->resources.slots,
                   "Number of tests that a GPU runs at the same time. Default: 1.")
      ->check(CLI::Range(1, 1000));
  verb->add_option("--output", options->resources.output, "File to write. Default: standard output.");
  add_library_option(*verb, options->library);
  return {verb, [options] {
            DoctorOptions doctor;
            doctor.library = null_if_empty(options->library);
            return print_data(ctest_resources(examine(doctor), options->resources));
          }};
}

}  // namespace cushim::command
