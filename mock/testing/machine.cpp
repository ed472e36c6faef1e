// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <cushim/driver.hpp>

#include <filesystem>

namespace cushim::testing {

Machine describe_machine() {
  Machine machine;
  Driver &driver = current_driver();
  std::error_code ignored;
  const std::filesystem::path path = driver.name();
  const std::filesystem::path file = std::filesystem::canonical(path, ignored);
  // Without the folder, so that two machines with the same driver give the same text.
  machine.library = (ignored ? path : file).filename().string();
  machine.version = driver.version();
  int count = 0;
  if (driver.cuInit(0) != CUDA_SUCCESS || driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return machine;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = 0;
    char name[256] = "";
    if (driver.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
        driver.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS)
      machine.gpus.emplace_back(name);
  }
  return machine;
}

}  // namespace cushim::testing
