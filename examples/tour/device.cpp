// SPDX-License-Identifier: Apache-2.0
#include "tour.hpp"

namespace tour {

using namespace cushim;

void device(Device device) {
  show("devices", std::to_string(Device::count()));
  show("name", device.name());
  show("UUID", device.uuid().text());
  const std::string address = device.pci_bus_id();
  show("PCI address", address);
  expect(Device::by_pci_bus_id(address) == device, "the PCI address finds the device again");
  show("memory", std::to_string(device.total_memory() >> 20) + " MiB");
  show("compute capability", std::to_string(device.attribute(attribute::compute_capability_major)) + "." +
                                 std::to_string(device.attribute(attribute::compute_capability_minor)));
  show("multiprocessors", std::to_string(device.attribute(attribute::multiprocessor_count)));
  show("error correction", device.attribute(attribute::ecc_enabled) ? "on" : "off");
  expect(device.attribute(attribute::warp_size) == 32, "a warp has 32 threads");
  if (Device::count() > 1)
    show("can reach the second device", device.can_access(Device::get(1)) ? "yes" : "no");
}

}  // namespace tour
