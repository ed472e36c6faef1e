// SPDX-License-Identifier: Apache-2.0
// The plugin: contains a static copy of cushim, so that it can be loaded on any machine.
#include "plugin.h"

#include <cushim/driver.hpp>

#include <string>

// Returns the name of the first device, or the call that failed.
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
  // never destroyed: the caller may keep the text
  static const auto *const report = new std::string(make_report());
  return report->c_str();
}
