// SPDX-License-Identifier: Apache-2.0
// cushim ctest-resources: writes a CTest resource specification file with this machine's GPUs.
#pragma once

#include <string>

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

struct DoctorReport;

struct ResourceOptions {
  int slots = 1;       // number of tests that a GPU runs at once
  std::string output;  // the file to write; empty for standard output
};

// Lists the driver's devices as the resource "gpus". Their ids are device numbers; if CUDA_VISIBLE_DEVICES is
// set, indices into it. Exit::no_driver without a driver, Exit::finding without a device.
Outcome ctest_resources(const DoctorReport &report, const ResourceOptions &options);

// Adds the verb ctest-resources.
Verb add_ctest_resources(CLI::App &app);

}  // namespace cushim::command
