// SPDX-License-Identifier: Apache-2.0
#include "engine/block_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "engine/operation.hpp"

namespace cushim::sim {

namespace {

constexpr std::size_t kChunk = 2 << 20;
constexpr std::size_t kAlignment = 64;  // of the first block of a chunk
constexpr std::size_t kHeader = 64;     // of a chunk

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasChunks = false;
#elif defined(__has_feature)
constexpr bool kHasChunks = !__has_feature(address_sanitizer);
#else
constexpr bool kHasChunks = true;
#endif

struct FreeBlock {
  FreeBlock *next;
};

// Maps a chunk at a multiple of its size.
void *map_chunk() {
  void *const mapping =
      mmap(nullptr, 2 * kChunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  auto *const begin = static_cast<std::byte *>(mapping);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kChunk;
  if (before != 0) munmap(begin, before);
  munmap(begin + before + kChunk, kChunk - before);
  return begin + before;
}

}  // namespace

struct BlockPool::Chunk {
  BlockPool &pool;
  FreeBlock *free = nullptr;  // blocks that were freed
  std::size_t touched = 0;    // number of blocks that have been in use since the chunk was empty
  std::size_t in_use = 0;

  void *block(std::size_t i) noexcept {
    return reinterpret_cast<std::byte *>(this) + kHeader + i * pool.block_;
  }
  static Chunk &of(void *block) noexcept {
    return *reinterpret_cast<Chunk *>(reinterpret_cast<std::uintptr_t>(block) & ~(kChunk - 1));
  }
};

BlockPool::BlockPool(std::size_t block) noexcept : block_(block), blocks_((kChunk - kHeader) / block) {}

BlockPool::~BlockPool() {
  for (Chunk *const chunk : with_room_) munmap(chunk, kChunk);
}

void BlockPool::Disown::operator()(BlockPool *pool) const noexcept {
  pool->is_owned_ = false;
  if (pool->is_unused()) delete pool;
}

void BlockPool::add_chunk() {
  if (with_room_.capacity() == chunks_) with_room_.reserve(std::max<std::size_t>(8, 2 * chunks_));
  void *const mapping = map_chunk();
  // Most machines never need a second chunk, and clearing a large page for them would be wasted.
  // MADV_HUGEPAGE must be set before the first byte is written.
  if (chunks_ != 0) madvise(mapping, kChunk, MADV_HUGEPAGE);
  static_assert(sizeof(Chunk) <= kHeader);
  auto *const chunk = new (mapping) Chunk{*this};
  ++chunks_;
  with_room_.push_back(chunk);
}

void *BlockPool::allocate() {
  if (!kHasChunks) return ::operator new(block_, std::align_val_t(kAlignment));
  if (with_room_.empty()) add_chunk();
  Chunk &chunk = *with_room_.back();
  ++in_use_;
  if (++chunk.in_use == blocks_) with_room_.pop_back();
  if (chunk.free == nullptr) return chunk.block(chunk.touched++);
  return std::exchange(chunk.free, chunk.free->next);
}

void BlockPool::give_back(void *block) noexcept {
  if (!kHasChunks) return ::operator delete(block, std::align_val_t(kAlignment));
  Chunk &chunk = Chunk::of(block);
  BlockPool &pool = chunk.pool;
  chunk.free = new (block) FreeBlock{chunk.free};
  if (chunk.in_use-- == pool.blocks_) pool.with_room_.push_back(&chunk);
  if (chunk.in_use == 0) {
    // An empty chunk allocates its blocks in address order again.
    chunk.free = nullptr;
    chunk.touched = 0;
  }
  --pool.in_use_;
  if (pool.is_unused()) delete &pool;
}

static_assert(alignof(Task) <= kAlignment && kHeader % kAlignment == 0);
void *Task::operator new(std::size_t, BlockPool &pool) { return pool.allocate(); }
void Task::operator delete(void *task) noexcept { BlockPool::give_back(task); }

}  // namespace cushim::sim
