// SPDX-License-Identifier: Apache-2.0
// Functions of the CUDA device runtime (libcudadevrt), which contains no PTX that present devices run.
#pragma once

#include <string>
#include <string_view>

namespace cushim::sim {

// Returns the PTX, without a header, of the device runtime's functions that the module names: those by which
// the blocks of a cooperative launch synchronize (cuda_device_runtime_api.h of CUDA 13.0:
// cudaCGGetIntrinsicHandle, cudaCGSynchronize). Empty if the module names none of them.
std::string device_runtime_for(std::string_view module);

}  // namespace cushim::sim
