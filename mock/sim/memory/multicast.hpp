// SPDX-License-Identifier: Apache-2.0
// Multicast objects: memory of several devices under one address. Copies, memsets and multimem instructions
// write to all of it at once. From the documentation only.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cushim::sim {

struct Device;
class PhysicalView;

struct Multicast {
  // Memory of a device that is bound to a part of the object.
  struct Binding {
    const Device *device = nullptr;
    std::size_t offset = 0;  // in the object
    std::size_t size = 0;
    std::shared_ptr<PhysicalView> memory{};
    std::size_t from = 0;  // offset in the memory

    bool contains(std::size_t first, std::size_t count) const noexcept {
      return first >= offset && first - offset <= size && count <= size - (first - offset);
    }
  };

  // Bytes of the object in the memory of a device. They stay mapped while the owner lives.
  struct Copy {
    std::byte *bytes = nullptr;
    std::shared_ptr<PhysicalView> owner{};
  };

  std::size_t size = 0;
  std::size_t team = 0;  // the number of devices that the object is for
  bool is_exportable = false;
  std::vector<const Device *> devices{};  // added so far
  std::vector<Binding> bindings{};

  bool is_complete() const noexcept { return devices.size() == team; }
  // Returns a part of the object in the memory of each device; nothing unless each device of the team has a
  // binding that contains the whole part.
  std::vector<Copy> copies(std::size_t offset, std::size_t count) const;
};

}  // namespace cushim::sim
