// SPDX-License-Identifier: Apache-2.0
// A model of the time that a kernel takes on a device.
#pragma once

#include <cushim/ptx/costs.hpp>
#include <cushim/sim/profile.hpp>

#include <cstddef>
#include <cstdint>

namespace cushim::sim {

// The sample that kernel_time() was fitted with.
ptx::Sample sample_for_time(const ptx::Program &with_costs);

// Returns the nanoseconds from the launch of a kernel on an idle device to its end. `shared_bytes`: static
// and dynamic shared memory of a block. docs/guide/kernel_time.md describes the model and its errors.
std::int64_t kernel_time(const ptx::SampledCosts &costs, const ptx::LaunchShape &shape,
                         std::size_t shared_bytes, const Profile &profile);

}  // namespace cushim::sim
