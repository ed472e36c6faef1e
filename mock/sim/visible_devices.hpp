// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES: which devices a process sees, and in which order.
#pragma once

#include <vector>

#include "device.hpp"

namespace cushim::sim {

// Those of all that the text names, numbered anew. A number is a place in all, which are in the order that
// CUDA_DEVICE_ORDER asks for. What is named behind something that names no device is not seen. Null is all.
// Measured with driver 580: a number may have blanks, zeros or a plus before it, and letters behind it; a
// device named twice is INVALID_DEVICE, thrown as a Refusal.
std::vector<Device *> visible_devices(const std::vector<Device *> &all, const char *text);

}  // namespace cushim::sim
