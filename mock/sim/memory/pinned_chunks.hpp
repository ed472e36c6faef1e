// SPDX-License-Identifier: Apache-2.0
// The chunks of 2 MiB that small allocations of pinned memory of a context share. Only their numbers and
// flags are simulated: each allocation has addresses of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ipc/object_numbers.hpp"

namespace cushim::sim {

struct Context;

struct PinnedChunk {
  const Context *context;
  unsigned flags;  // CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_WRITECOMBINED, of its first allocation
  NumberHold number;
  std::size_t used;  // bytes
};

class PinnedChunks {
 public:
  explicit PinnedChunks(ObjectNumbers &numbers) noexcept : numbers_(numbers) {}

  // Returns the chunk of a new allocation, which keeps it for as long as it lives. Write-combined memory has
  // chunks of its own; portable memory has not. Measured on an H200, driver 580.159.
  std::shared_ptr<const PinnedChunk> chunk_for(const Context &context, unsigned flags, std::size_t size);

 private:
  ObjectNumbers &numbers_;
  std::vector<std::weak_ptr<PinnedChunk>> with_space_;
};

}  // namespace cushim::sim
