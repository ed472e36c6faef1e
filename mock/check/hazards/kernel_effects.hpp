// SPDX-License-Identifier: Apache-2.0
// The effects of kernel launches.
#pragma once

#include "hazards/effects.hpp"

namespace cushim::check {

void launch(CallView &call);
void launch_cooperative(CallView &call);
void launch_by_configuration(CallView &call);
void launch_several(CallView &call);  // cuLaunchCooperativeKernelMultiDevice
// Of the first releases, whose parameters are set before the launch. They are known only if the driver tells.
void launch_in_null(CallView &call);
void launch_in_last(CallView &call);

void forget_kernels(CallView &call);

}  // namespace cushim::check
