// SPDX-License-Identifier: Apache-2.0
// Putting devices together.
#pragma once

#include <cushim/sim/profile.hpp>

namespace cushim::sim {

// Whether a word of a description is a file's path.
bool is_file(std::string_view word);

// The devices of one item of a description: "h200", "h200x2", "./mine.json". Throws std::invalid_argument.
std::vector<Profile> named_devices(const std::string &item);

// A machine of these with today's driver and the links that their profiles tell, each on a PCI bus of its
// own.
MachineProfile assemble(std::vector<Profile> devices);

}  // namespace cushim::sim
