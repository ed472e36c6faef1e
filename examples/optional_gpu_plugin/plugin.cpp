// SPDX-License-Identifier: Apache-2.0
// The plugin: holds its own static copy of cushim, so that it can be loaded on any machine.
#include "plugin.h"

#include <cushim/driver.hpp>

#include <string>

// Names the first device, or says what failed.
static std::string describe_device() {
  int count = 0;
  CUresult result = cushim::driver().cuDeviceGetCount(&count);
  CUdevice device = 0;
  if (result == CUDA_SUCCESS) result = cushim::driver().cuDeviceGet(&device, 0);
  char name[256] = "";
  if (result == CUDA_SUCCESS) result = cushim::driver().cuDeviceGetName(name, sizeof name, device);
  if (result != CUDA_SUCCESS) return cushim::current_driver().explain(result).text();
  return std::to_string(count) + " GPU(s), the first is " + name;
}

static std::string make_report() {
  const cushim::Loaded loaded = cushim::load({.initialize = true});
  return loaded ? describe_device() : loaded.diagnosis.text();
}

extern "C" __attribute__((visibility("default"))) const char *plugin_report() {
  static const auto *const report = new std::string(make_report());  // lives as long as the process
  return report->c_str();
}
