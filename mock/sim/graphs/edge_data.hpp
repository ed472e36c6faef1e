// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cushim::sim {

// Data of an edge (CUgraphEdgeData, which the headers of CUDA 11 and 12.0 lack).
struct EdgeData {
  unsigned char from_port = 0, to_port = 0, type = 0;
  unsigned char reserved[5] = {};
  bool operator==(const EdgeData &) const noexcept = default;
};

}  // namespace cushim::sim
