// SPDX-License-Identifier: Apache-2.0
// Reads a profile or a machine from JSON. mock/sim/profile/devices/schema.json describes the format for
// editors.
#pragma once

#include <cushim/sim/profile.hpp>

#include <map>
#include <string>
#include <vector>

namespace cushim::sim {

// Reads the text of one device.
Profile read_profile(std::string_view text, const std::string &origin, const std::vector<Profile> &known);

// Reads the text of one device or of a machine, whose devices are items as for machine(), or objects.
MachineProfile read_machine(std::string_view text, const std::string &origin,
                            const std::vector<Profile> &known);

// Returns the valid keys of each kind of object in the files; attribute_names() has those of "attributes".
const std::map<std::string, std::vector<std::string>> &known_keys();

// Returns the newest device attribute in the CUDA headers of this driver version.
int newest_attribute(int driver_version);

inline constexpr int oldest_driver = 11000, newest_driver = 13990, default_driver = 13000;
inline constexpr std::size_t most_devices = 64;

}  // namespace cushim::sim
