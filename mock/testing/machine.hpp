// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cushim::testing {

// The driver and the devices of this run, as far as the driver reports them.
struct Machine {
  std::string library;  // file name without symbolic links: libcuda.so.580.159.04
  int version = 0;      // 13000
  std::vector<std::string> gpus;
};
Machine describe_machine();

}  // namespace cushim::testing
