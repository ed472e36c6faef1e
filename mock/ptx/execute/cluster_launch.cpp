// SPDX-License-Identifier: Apache-2.0
// clusterlaunchcontrol: a block takes over the work of a cluster that has not started.
#include <cstring>
#include <iterator>

#include "execute/asynchronous.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

// The 16 bytes that try_cancel writes. The PTX manual leaves their layout undefined.
struct Response {
  u32 x = 0, y = 0, z = 0;  // of the first block of the canceled cluster
  u32 is_canceled = 0;
};
static_assert(sizeof(Response) == 16);

Response cancel(Launch &launch) {
  Response response;
  const u64 index = launch.next_cluster.fetch_add(1, std::memory_order_relaxed);
  if (index >= launch.clusters) return response;
  const Dim3 &grid = launch.shape.grid, &size = launch.shape.cluster;
  const u64 columns = grid.x / size.x, rows = grid.y / size.y;
  response.x = u32(index % columns) * size.x;
  response.y = u32(index / columns % rows) * size.y;
  response.z = u32(index / (columns * rows)) * size.z;
  response.is_canceled = 1;
  return response;
}

// a: address of the response; b: mbarrier; extra: 1 for all blocks of the cluster
const Op *try_cancel(Warp &w, const Op *op) {
  const u64 *const to = reg<u64>(w, op->a), *const mbarrier = reg<u64>(w, op->b);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(rest));
    if ((to[i] & 15) != 0) return fault(w, op, FaultKind::misaligned_address, i, to[i]);
    const Response response = cancel(*w.worker->launch);
    const u64 blocks = op->extra != 0 ? w.block->cluster->blocks.size() : 1;
    for (u64 rank = 0; rank < blocks; ++rank) {
      const u64 block = ((op->extra != 0 ? rank : w.block->rank) + 1) * cluster_block_bytes;
      std::byte *const host =
          resolve_shared(w, op, i, block + to[i] % cluster_block_bytes, sizeof response, Access::write);
      if (host == nullptr) return nullptr;
      std::memcpy(host, &response, sizeof response);
      if (!complete_bytes_at(w, op, i, block + mbarrier[i] % cluster_block_bytes, sizeof response))
        return nullptr;
    }
  }
  return op + 1;
}

}  // namespace

constinit const LaneTable cluster_launch_operations = {{"try_cancel", try_cancel, ""}};

}  // namespace cushim::ptx::execute
