// SPDX-License-Identifier: Apache-2.0
#include "memory/pinned_chunks.hpp"

#include <cuda.h>

#include <algorithm>

#include "objects/context.hpp"

namespace cushim::sim {

namespace {

constexpr std::size_t kChunkSize = 2 << 20;

}  // namespace

std::shared_ptr<const PinnedChunk> PinnedChunks::chunk_for(const Context &context, unsigned flags,
                                                           std::size_t size) {
  std::erase_if(with_space_, [](const auto &weak) {
    const auto chunk = weak.lock();
    return chunk == nullptr || chunk->used == kChunkSize;
  });
  for (const auto &weak : with_space_) {
    auto chunk = weak.lock();
    const bool is_alike = ((chunk->flags ^ flags) & CU_MEMHOSTALLOC_WRITECOMBINED) == 0;
    if (chunk->context != &context || !is_alike || size > kChunkSize - chunk->used) continue;
    chunk->used += size;
    return chunk;
  }
  auto made = std::make_shared<PinnedChunk>(
      PinnedChunk{&context, flags & (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED),
                  NumberHold(numbers_, take_pair(numbers_)), std::min(size, kChunkSize)});
  with_space_.push_back(made);
  return made;
}

}  // namespace cushim::sim
