// SPDX-License-Identifier: Apache-2.0
// Chunks: the granularity of poisoning, and of returning memory to the system.
#pragma once

#include "memory/memory.hpp"

namespace cushim::sim {

constexpr std::size_t kChunk = SharedBlocks::kChunk;
constexpr std::size_t kChunksOfBlock = Memory::kBlock / kChunk;
constexpr int kPoison = SharedBlocks::kPoison;

}  // namespace cushim::sim
