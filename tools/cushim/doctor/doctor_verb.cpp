// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "doctor/doctor.hpp"

namespace cushim::command {

Verb add_doctor(CLI::App &app) {
  struct Options {
    DoctorOptions doctor;
    std::string library;
    bool as_json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand(
      "doctor", "Report the NVIDIA driver of this machine, what it supports, and its problems.");
  verb->add_option("--at-least", options->doctor.at_least,
                   "Report a driver older than this CUDA release as a problem. Default: any release.")
      ->transform(release_value());
  add_library_option(*verb, options->library);
  add_json_flag(*verb, options->as_json);
  return {verb, [options] {
            options->doctor.library = null_if_empty(options->library);
            return print(report(examine(options->doctor)), options->as_json);
          }};
}

}  // namespace cushim::command
