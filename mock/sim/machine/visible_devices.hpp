// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES: the devices that a process sees, and their order.
#pragma once

#include <vector>

#include "objects/device.hpp"

namespace cushim::sim {

// Returns the devices that the text names, and sets their ordinals. A number is an index into `all`, which is
// in the order of CUDA_DEVICE_ORDER. The list ends at the first item that names no device. Null stands for
// all devices. Measured, driver 580: a number may have leading blanks, zeros or a plus sign, and trailing
// letters; a device named twice is INVALID_DEVICE, thrown as a CallError.
std::vector<Device *> visible_devices(const std::vector<Device *> &all, const char *text);

}  // namespace cushim::sim
