// SPDX-License-Identifier: Apache-2.0
// Shared by cuLaunchKernel and the launches of the first releases (cuLaunch, cuLaunchGrid).
#pragma once

#include "api/launch_options.hpp"
#include "api/service.hpp"

namespace cushim::sim {

// Checks the limits of the device and of the kernel for a block.
void check_block_of(const Function &function, const ptx::Dim3 &block);

// Launches a kernel in a stream, or captures the launch.
CUresult launch(Call &call, Function &function, CUstream into, const LaunchOptions &launch, void **pointers,
                void **extra);

}  // namespace cushim::sim
