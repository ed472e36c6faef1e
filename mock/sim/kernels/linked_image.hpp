// SPDX-License-Identifier: Apache-2.0
// The images that cuLinkComplete returns: cubins without machine code that contain the linked PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::sim {

struct LinkedImage {
  std::string ptx;
  std::uint32_t oldest_target = 0;  // of the linked inputs: 52 for sm_52; 0 without inputs
  int machine_target = 0;           // the devices that the cubin is for: 90 for sm_90
};

// Returns a cubin with the PTX, and an empty section for the machine code of each kernel.
std::string to_cubin(const LinkedImage &image, const std::vector<std::string> &kernels);

// Returns the image in a cubin that to_cubin() made; nothing for other cubins.
std::optional<LinkedImage> linked_image_in(std::string_view cubin);

}  // namespace cushim::sim
