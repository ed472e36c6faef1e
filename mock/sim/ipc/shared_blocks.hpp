// SPDX-License-Identifier: Apache-2.0
// Bytes of device memory that several processes map. Like all device memory they are poisoned on first touch,
// by the process that touches them first. One file holds many allocations, to save file descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "ipc/shared_file.hpp"

namespace cushim::sim {

class SharedBlocks {
 public:
  static constexpr std::size_t kBlock = 2 << 20;   // granularity of allocating and freeing
  static constexpr std::size_t kChunk = 64 << 10;  // granularity of poisoning
  // The content of fresh device memory. Not zero, so that a read of uninitialized memory is noticeable.
  static constexpr int kPoison = 0xA5;

  // Creates a file of `size` bytes, a multiple of kBlock. It takes no memory until it is written to. Returns
  // null on failure, with the reason in errno.
  static std::shared_ptr<SharedBlocks> make(std::size_t size, std::uint64_t nonce);
  // Opens a file of another process. Returns null on failure, with the reason in errno; ESTALE if size or
  // nonce do not match.
  static std::shared_ptr<SharedBlocks> open(SharedFile file, std::size_t size, std::uint64_t nonce);
  ~SharedBlocks();
  SharedBlocks(const SharedBlocks &) = delete;
  SharedBlocks &operator=(const SharedBlocks &) = delete;

  std::size_t size() const noexcept { return size_; }
  std::uint64_t nonce() const noexcept { return *nonce_; }
  const SharedFile &file() const noexcept { return file_; }

  bool has_room(std::size_t size) const noexcept { return size <= size_ - taken_; }
  // Reserves `size` bytes, a multiple of kBlock, that were never reserved before, and returns their offset;
  // nothing if there is no room. Only for the process that created the file.
  std::optional<std::size_t> take(std::size_t size) noexcept;

  // Adds or removes a holder of each block in the range. The memory of a block without holders is freed. A
  // killed process does not remove its holders; the kernel frees the memory with the file.
  void hold(std::size_t offset, std::size_t size) noexcept;
  void let_go(std::size_t offset, std::size_t size) noexcept;

  // Writes the bytes of a chunk. Only for the process that created the file, before it is shared. Returns
  // false if the system is out of memory.
  bool fill(std::size_t chunk, const std::byte *bytes);
  // Poisons a chunk, mapped at `bytes`, unless it has been poisoned or written to. While another process
  // poisons it, waits until that process is done or has ended; sleeps after 50 microseconds.
  void touch(std::size_t chunk, std::byte *bytes);
  bool is_touched(std::size_t chunk) const noexcept;

 private:
  SharedBlocks(SharedFile file, std::size_t size, std::byte *table) noexcept;

  const SharedFile file_;
  const std::size_t size_;
  std::size_t taken_ = 0;
  std::byte *const table_;  // after the bytes: the nonce, the states of chunks, the holders of blocks
  std::uint64_t *const nonce_;
  std::atomic<std::uint64_t> *const states_;  // 0, kTouched, or the process that is poisoning the chunk
  std::atomic<std::uint32_t> *const holders_;
};

// Holds blocks for its lifetime.
class BlocksHold {
 public:
  BlocksHold(std::shared_ptr<SharedBlocks> blocks, std::size_t offset, std::size_t size) noexcept
      : blocks_(std::move(blocks)), offset_(offset), size_(size) {
    blocks_->hold(offset_, size_);
  }
  ~BlocksHold() { blocks_->let_go(offset_, size_); }
  BlocksHold(const BlocksHold &) = delete;
  BlocksHold &operator=(const BlocksHold &) = delete;

 private:
  const std::shared_ptr<SharedBlocks> blocks_;
  const std::size_t offset_, size_;
};

// A contiguous part of an allocation in a file.
struct Piece {
  std::shared_ptr<SharedBlocks> blocks;
  std::size_t offset = 0;
  std::size_t size = 0;
  std::shared_ptr<BlocksHold> hold{};  // set for an importer
};

}  // namespace cushim::sim
