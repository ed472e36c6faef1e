// SPDX-License-Identifier: Apache-2.0
// Memory of other processes.
#pragma once

#include <cuda.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "ipc/share_table.hpp"

namespace cushim::sim {

struct Context;
struct Pool;

// Blocks of another process that this one has mapped, with all memory in them. Measured, driver 580.
struct ImportedBlocks {
  // Identifies the blocks by the handle that was opened. Two handles of blocks with the same number map them
  // twice. Each imported pool maps its blocks itself.
  struct Key {
    std::uint64_t table = 0;  // nonce of the exporter's table
    std::uint32_t record = 0;
    std::uint32_t generation = 0;  // of the handle
    const Pool *pool = nullptr;
    auto operator<=>(const Key &) const = default;
  };

  ImportedBlocks() = default;
  ~ImportedBlocks();
  ImportedBlocks(const ImportedBlocks &) = delete;
  ImportedBlocks &operator=(const ImportedBlocks &) = delete;

  Context *context = nullptr;  // for which they are mapped; null: for a pool
  NumberHold number;
  FoundBlocks found;
  std::byte *addresses = nullptr;  // not accessible to the host; null for host memory, which has one address
  std::byte *bytes = nullptr;

  std::size_t size() const noexcept { return found.piece.size; }
  bool is_of_host() const noexcept { return addresses == nullptr; }
  CUdeviceptr base() const noexcept {
    return reinterpret_cast<CUdeviceptr>(is_of_host() ? bytes : addresses);
  }
};

// The part of an Allocation that is memory of another process.
struct MemoryImport {
  std::shared_ptr<ImportedBlocks> blocks;
  int opens = 1;
};

}  // namespace cushim::sim
