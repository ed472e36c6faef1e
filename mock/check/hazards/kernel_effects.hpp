// SPDX-License-Identifier: Apache-2.0
// The effects of kernel launches.
#pragma once

#include "hazards/entry_point_effects.hpp"

namespace cushim::check {

void launch(CallView &call);
void launch_cooperative(CallView &call);
void launch_by_configuration(CallView &call);
void launch_several(CallView &call);  // cuLaunchCooperativeKernelMultiDevice
// Calls of the first CUDA releases: cuParamSet sets the parameters before the launch. The checker knows them
// only from a driver of this process (LaunchWatch).
void launch_in_null(CallView &call);
void launch_in_last(CallView &call);

void forget_kernels(CallView &call);

}  // namespace cushim::check
