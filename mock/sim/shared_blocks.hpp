// SPDX-License-Identifier: Apache-2.0
// Bytes of device memory that several processes have mapped. As all device memory they are poisoned when they
// are first touched, by whichever process that is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "shared_file.hpp"

namespace cushim::sim {

class SharedBlocks {
 public:
  static constexpr std::size_t kChunk = 64 << 10;  // poisoned as one
  // What fresh device memory holds: not zero, so that reading what nobody wrote shows.
  static constexpr int kPoison = 0xA5;

  // So many bytes, a multiple of kChunk. Null if memory or file numbers are out.
  static std::shared_ptr<SharedBlocks> make(std::size_t size, std::uint64_t nonce);
  // Those of another process. Null if the file is not what it is taken for.
  static std::shared_ptr<SharedBlocks> open(SharedFile file, std::size_t size, std::uint64_t nonce);
  ~SharedBlocks();
  SharedBlocks(const SharedBlocks &) = delete;
  SharedBlocks &operator=(const SharedBlocks &) = delete;

  std::size_t size() const noexcept { return size_; }
  std::uint64_t nonce() const noexcept { return *nonce_; }
  const SharedFile &file() const noexcept { return file_; }

  // Puts the bytes of a chunk there. For who made it, before it is shared; false if memory is out.
  bool fill(std::size_t chunk, const std::byte *bytes);
  // Sees to it that a chunk, mapped at that place, has been poisoned or written to.
  void touch(std::size_t chunk, std::byte *bytes);
  bool is_touched(std::size_t chunk) const noexcept;

 private:
  SharedBlocks(SharedFile file, std::size_t size, std::byte *table) noexcept;

  const SharedFile file_;
  const std::size_t size_;
  std::byte *const table_;  // behind the bytes: the nonce, and the state of each chunk
  std::uint64_t *const nonce_;
  std::atomic<std::int32_t> *const states_;  // 0, kTouched, or the process that is poisoning it
};

// Where an allocation lies, or a part of it.
struct Piece {
  std::shared_ptr<SharedBlocks> blocks;
  std::size_t offset = 0;
  std::size_t size = 0;
};

}  // namespace cushim::sim
