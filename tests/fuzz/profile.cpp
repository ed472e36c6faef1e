// SPDX-License-Identifier: Apache-2.0
// Fuzzes the JSON description of a device or a machine (docs/reference/profiles.md).
#include <cushim/sim/profile.hpp>

#include <stdexcept>
#include <string>

#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  try {
    auto machine = cushim::sim::read_machine(fuzz::text_of(data, size), "profile.json");
    fuzz::promise(!machine.devices.empty(), "a machine has devices");
    fuzz::promise(machine.peers.size() == machine.devices.size(), "each device has peers");
    cushim::sim::set_driver(machine, 11080);
    for (const auto &device : machine.devices)
      for (const auto &[name, value] : device.values()) static_cast<void>(device.source(name));
    const auto order = cushim::sim::device_order(machine, "PCI_BUS_ID");
    fuzz::promise(order.size() == machine.devices.size(), "each device has a place");
    static_cast<void>(cushim::sim::device_order(machine, nullptr));
  } catch (const std::invalid_argument &refusal) {
    fuzz::promise(std::string_view(refusal.what()).starts_with("profile.json:"), "an error names the file");
  }
  return 0;
}
