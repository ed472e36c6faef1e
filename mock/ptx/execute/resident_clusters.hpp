// SPDX-License-Identifier: Apache-2.0
// The clusters of a launch that a worker holds in memory.
#pragma once

#include <memory>

#include "execute/machine.hpp"

namespace cushim::ptx::execute {

// Makes a cluster that no launch index has been given yet. Its memory can be reused when it has ended.
std::unique_ptr<Cluster> make_cluster(Worker &, bool is_sampled);
// Sets a cluster to its first instruction, as the one of this index in the grid.
void start(Cluster &, const Launch &, std::uint64_t index);
// Returns the bytes that a resident cluster needs.
std::uint64_t cluster_bytes(const Launch &);

}  // namespace cushim::ptx::execute
