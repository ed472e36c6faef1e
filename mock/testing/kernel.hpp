// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/sim/machine.hpp>

namespace cushim::testing {

// Makes kernel() register with this machine. Call before the tests run.
void register_kernels_with(sim::Machine &machine);

}  // namespace cushim::testing
