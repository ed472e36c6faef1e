// SPDX-License-Identifier: Apache-2.0
#include "memory/pinned_chunks.hpp"

#include <cuda.h>

#include <algorithm>

#include "objects/context.hpp"

namespace cushim::sim {

namespace {

constexpr std::size_t kChunkSize = 2 << 20;

}  // namespace

struct PinnedChunks::Chunk {
  const Context *context;
  unsigned flags;
  NumberHold number;
  std::size_t used;
};

std::shared_ptr<const void> PinnedChunks::chunk_for(const Context &context, unsigned flags,
                                                    std::size_t size) {
  std::erase_if(chunks_, [](const auto &chunk) { return chunk.expired(); });
  const unsigned kind = flags & CU_MEMHOSTALLOC_WRITECOMBINED;
  for (const auto &weak : chunks_) {
    auto chunk = weak.lock();
    if (chunk->context != &context || chunk->flags != kind || size > kChunkSize - chunk->used) continue;
    chunk->used += size;
    return chunk;
  }
  auto made = std::make_shared<Chunk>(
      Chunk{&context, kind, NumberHold(numbers_, take_pair(numbers_)), std::min(size, kChunkSize)});
  chunks_.push_back(made);
  return made;
}

}  // namespace cushim::sim
