// SPDX-License-Identifier: Apache-2.0
// Bytes of device memory that several processes map. Like all device memory they are poisoned on first touch,
// by the process that touches them first. One file holds many allocations, to save file descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "ipc/shared_file.hpp"

namespace cushim::sim {

class SharedBlocks {
 public:
  static constexpr std::size_t kBlock = 2 << 20;   // granularity of allocating and freeing
  static constexpr std::size_t kChunk = 64 << 10;  // granularity of poisoning
  // The content of fresh device memory. Not zero, so that a read of uninitialized memory is noticeable.
  static constexpr int kPoison = 0xA5;

  // Creates a file of `size` bytes, a multiple of kBlock, and a label of any bytes at its end. It takes no
  // memory until it is written to. Returns null on failure, with the reason in errno.
  static std::shared_ptr<SharedBlocks> make(std::size_t size, std::uint64_t nonce,
                                            std::span<const std::byte> label = {});
  // Opens a file of another process. Returns null on failure, with the reason in errno; ESTALE if size or
  // nonce do not match.
  static std::shared_ptr<SharedBlocks> open(SharedFile file, std::size_t size, std::uint64_t nonce,
                                            std::size_t label_size = 0);
  // Copies the last bytes of a file, where the label is if it has one. Returns false if the file is shorter
  // or cannot be read.
  static bool read_label(const SharedFile &file, std::span<std::byte> label);
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
  bool is_touched(std::size_t chunk) const noexcept {
    return states_[chunk].load(std::memory_order_acquire) == kTouched;
  }

 private:
  static constexpr std::uint64_t kTouched = ~std::uint64_t{0};  // a state

  SharedBlocks(SharedFile file, std::size_t size, std::byte *table) noexcept;

  const SharedFile file_;
  const std::size_t size_;  // of the bytes
  std::size_t taken_ = 0;
  std::byte *const table_;  // after the bytes: the nonce, the states of chunks, the holders of blocks
  std::uint64_t *const nonce_;
  std::atomic<std::uint64_t> *const states_;  // 0, kTouched, or the process that is poisoning the chunk
  std::atomic<std::uint32_t> *const holders_;
};

// The files of a process for blocks of many allocations. Later files are larger, so that the process has
// enough file descriptors for a whole device: 8 of 128 MiB, 8 of 256 MiB, up to 32 GiB.
class BlockFiles {
 public:
  // Returns a file with room for `size` bytes, a multiple of kBlock, and creates it if necessary. Returns
  // null on failure, with the reason in errno.
  std::shared_ptr<SharedBlocks> with_room(std::size_t size);

 private:
  std::weak_ptr<SharedBlocks> last_;
  unsigned made_ = 0;
};

// Returns a random number that identifies a file; nothing on failure, with the reason in errno.
std::optional<std::uint64_t> make_nonce();

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

// Contiguous blocks of a file.
struct Piece {
  std::shared_ptr<SharedBlocks> blocks;
  std::size_t offset = 0;
  std::size_t size = 0;
  std::shared_ptr<BlocksHold> hold{};  // set for an importer
};

// Poisons the untouched chunks in a part of mapped blocks. `mapped` is where the part that begins at `offset`
// of the file is mapped.
inline void touch(SharedBlocks &blocks, std::size_t offset, std::size_t size, std::byte *mapped) {
  constexpr std::size_t kChunk = SharedBlocks::kChunk;
  for (std::size_t chunk = offset / kChunk; chunk * kChunk < offset + size; ++chunk)
    if (!blocks.is_touched(chunk)) blocks.touch(chunk, mapped + chunk * kChunk - offset);
}

}  // namespace cushim::sim
