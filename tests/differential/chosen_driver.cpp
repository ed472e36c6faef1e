// SPDX-License-Identifier: Apache-2.0
#include "chosen_driver.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace differential {

ChosenDriver::ChosenDriver(const std::string &name) {
  if (name == "sim") {
    cushim::sim::Options options = cushim::sim::options_from_environment();
    if (options.devices == cushim::sim::Options{}.devices) options.devices = RECORDED_DEVICE;
    machine_ = std::make_unique<cushim::sim::Machine>(options);
    driver_ = &machine_->driver();
    return;
  }
  const cushim::Loaded loaded =
      name == "real" ? cushim::Driver::load() : cushim::Driver::load({.library = name.c_str()});
  if (!loaded) throw std::runtime_error(loaded.diagnosis.text());
  driver_ = &*loaded;
}

std::string ChosenDriver::description() const {
  CUdevice device = 0;
  char name[256] = "";
  driver_->cuDeviceGet(&device, 0);
  driver_->cuDeviceGetName(name, sizeof name, device);
  return fmt::format("version {}, {}", driver_->version(), name);
}

}  // namespace differential
