// SPDX-License-Identifier: Apache-2.0
#include "memory/multicast.hpp"

#include "memory/physical_view.hpp"

namespace cushim::sim {

std::vector<Multicast::Copy> Multicast::copies(std::size_t offset, std::size_t count) const {
  std::vector<Copy> found;
  for (const Binding &binding : bindings)
    if (binding.contains(offset, count))
      found.push_back({binding.memory->bytes(binding.from + offset - binding.offset, count), binding.memory});
  if (found.size() != team) found.clear();
  return found;
}

}  // namespace cushim::sim
