// SPDX-License-Identifier: Apache-2.0
// Reading a profile or a machine from JSON. mock/sim/profiles/schema.json says the same to editors.
#pragma once

#include <cushim/sim/profile.hpp>

#include <map>
#include <string>
#include <vector>

namespace cushim::sim {

// A text of one device.
Profile read_profile(std::string_view text, const std::string &origin, const std::vector<Profile> &known);

// A text of one device, or of a machine: its devices are words for machine() or devices themselves.
MachineProfile read_machine(std::string_view text, const std::string &origin,
                            const std::vector<Profile> &known);

// The keys that are known in each kind of object that files have; of "attributes", attribute_names() tells.
const std::map<std::string, std::vector<std::string>> &known_keys();

// The newest attribute of a driver of this version, by CUDA's headers.
int newest_attribute(int driver_version);

inline constexpr int oldest_driver = 11000, newest_driver = 13990, default_driver = 13000;
inline constexpr std::size_t most_devices = 64;

}  // namespace cushim::sim
