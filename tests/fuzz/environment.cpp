// SPDX-License-Identifier: Apache-2.0
// Fuzzes the environment variables of the simulated driver and the NVIDIA variables that it supports, one per
// line.
#include <cushim/sim/machine.hpp>
#include <cushim/sim/profile.hpp>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "api/call.hpp"
#include "fuzz.hpp"
#include "machine/visible_devices.hpp"

namespace {

using namespace cushim::sim;

// Selects devices as cuInit does.
void choose(const MachineProfile &machine, const std::string &visible, const std::string &order) {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device *> ordered;
  for (const int index : device_order(machine, order.c_str())) {
    auto device = std::make_unique<Device>();
    device->index = index;
    device->uuid = uuid_of(machine.devices[static_cast<std::size_t>(index)], index);
    ordered.push_back(device.get());
    devices.push_back(std::move(device));
  }
  try {
    fuzz::promise(visible_devices(ordered, visible.c_str()).size() <= devices.size(), "none is seen twice");
  } catch (const CallError &error) {
    fuzz::promise(error.code == CUDA_ERROR_INVALID_DEVICE, "the answer is the real driver's");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::istringstream lines(std::string(fuzz::text_of(data, size)));
  std::string visible, order;
  std::getline(lines, visible);
  std::getline(lines, order);
  for (const char *const name :
       {"CUSHIM_DEVICES", "CUSHIM_DRIVER_VERSION", "CUSHIM_SCHEDULE", "CUSHIM_SEED", "CUSHIM_PATIENCE"}) {
    std::string value;
    std::getline(lines, value);
    setenv(name, value.c_str(), 1);
  }
  try {
    const Options options = options_from_environment();
    choose(machine(options.devices), visible, order);
  } catch (const std::invalid_argument &refusal) {
    fuzz::promise(*refusal.what() != '\0', "an error has words");
  }
  return 0;
}
