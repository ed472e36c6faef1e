// SPDX-License-Identifier: Apache-2.0
// cushim ctest-resources: the file by which CTest shares out this machine's GPUs among tests.
#pragma once

#include <string>

#include "outcome.hpp"

namespace cushim::command {

struct DoctorReport;

struct ResourceOptions {
  int slots = 1;       // how many tests a GPU runs at once
  std::string output;  // the file to write; empty is standard output
};

// The driver's devices as the resource "gpus", whose identities are the devices' numbers: places in
// CUDA_VISIBLE_DEVICES where that is set. Exit::no_driver if there is none, Exit::finding without a device.
Outcome ctest_resources(const DoctorReport &report, const ResourceOptions &options);

}  // namespace cushim::command
