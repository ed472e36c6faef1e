// SPDX-License-Identifier: Apache-2.0
// The costs of the sampled clusters of a launch.
#pragma once

#include <memory>

#include "cushim/ptx/costs.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {

// Returns whether a cluster of a launch with a sample belongs to it: one of each of equal parts of the grid,
// at a place that differs from part to part, so that the sample is not a row or column of a grid of two
// dimensions.
bool belongs_to_sample(const Launch &, std::uint64_t index);
// Prepares a sampled cluster that starts.
void start_costs(Cluster &);
// Adds the paths of a finished cluster.
void add_costs(Worker &, const Cluster &);
// Adds the costs of a worker that has ended.
void merge_costs(Launch &, const Worker &);
// Returns the sums of all workers.
std::shared_ptr<const SampledCosts> costs_of(const Launch &);

}  // namespace cushim::ptx::execute
