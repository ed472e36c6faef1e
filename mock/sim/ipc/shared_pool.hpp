// SPDX-License-Identifier: Apache-2.0
// The file behind the descriptor of an exported memory pool. It names the pool and the process that has it;
// the bytes of allocations are reached through that process.
#pragma once

#include <cuda.h>

#include <optional>

#include "ipc/share_table.hpp"

namespace cushim::sim {

struct SharedPool {
  ShareHandle handle;          // of the exporter's table; its size is the pool's nonce
  CUuuid device = {};          // zeros for host memory
  std::uint64_t location = 0;  // CUmemLocationType: a device, or a NUMA node of the host, which is node 0
};

// Creates a file for the pool. Returns its descriptor, which the caller closes; -1 on failure, with the
// reason in errno.
int make_pool_file(const SharedPool &pool);
// Reads such a file. Returns nothing for other and for damaged files. Does not close the descriptor.
std::optional<SharedPool> read_pool_file(int descriptor);

}  // namespace cushim::sim
