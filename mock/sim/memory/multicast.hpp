// SPDX-License-Identifier: Apache-2.0
// Multicast objects: memory of several devices under one address, for kernels that write to all of it at
// once. The simulated driver keeps what is bound to them, from the documentation only, and has no such
// traffic.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cushim::sim {

struct Device;
struct PhysicalMemory;

struct Multicast {
  // Memory of a device that is bound to a part of the object.
  struct Binding {
    const Device *device = nullptr;
    std::size_t offset = 0;  // in the object
    std::size_t size = 0;
    std::shared_ptr<PhysicalMemory> memory{};
  };

  std::size_t size = 0;
  std::size_t team = 0;  // the number of devices that the object is for
  bool is_exportable = false;
  std::vector<const Device *> devices{};  // added so far
  std::vector<Binding> bindings{};

  bool is_complete() const noexcept { return devices.size() == team; }
};

}  // namespace cushim::sim
