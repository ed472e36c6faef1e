// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cushim::sim {

// Memory that is bound to a multicast object, as this process reaches it.
class BoundMemory {
 public:
  virtual ~BoundMemory() = default;
  // Returns `size` bytes; poisons them on first touch. Null if the memory has been freed.
  virtual std::byte *bytes(std::size_t offset, std::size_t size) const = 0;
};

}  // namespace cushim::sim
