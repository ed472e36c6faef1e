// SPDX-License-Identifier: Apache-2.0
// Object files of the host that contain relocatable device code, and archives of them, as nvcc makes them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace cushim::sim {

struct DeviceImage {
  std::string_view member;  // the archive's member; empty for an object file
  std::string_view bytes;   // a fat binary
};

// Returns the device code in an archive (ar) of object files of the host, or in one. Returns nothing if
// `file` is neither, and none if a member is not an object file. Safe for arbitrary data.
std::optional<std::vector<DeviceImage>> device_images(std::string_view file);

}  // namespace cushim::sim
