// SPDX-License-Identifier: Apache-2.0
// Combines device profiles into a machine.
#pragma once

#include <cushim/sim/profile.hpp>

namespace cushim::sim {

// Returns whether an item of a description is the path of a file.
bool is_file(std::string_view word);

// Returns the devices of one item of a description: "h200", "h200x2", "./mine.json". Throws
// std::invalid_argument.
std::vector<Profile> named_devices(const std::string &item);

// Returns a machine of these devices with the default driver version and the links of their profiles, each
// device on its own PCI bus.
MachineProfile assemble(std::vector<Profile> devices);

}  // namespace cushim::sim
