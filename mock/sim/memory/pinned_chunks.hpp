// SPDX-License-Identifier: Apache-2.0
// The chunks of pinned memory, which have numbers. Only the numbers are simulated: each allocation has
// addresses of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ipc/object_numbers.hpp"

namespace cushim::sim {

struct Context;

class PinnedChunks {
 public:
  explicit PinnedChunks(ObjectNumbers &numbers) noexcept : numbers_(numbers) {}

  // Returns the chunk of a new allocation, which keeps it for as long as it lives.
  std::shared_ptr<const void> chunk_for(const Context &context, unsigned flags, std::size_t size);

 private:
  struct Chunk;

  ObjectNumbers &numbers_;
  std::vector<std::weak_ptr<Chunk>> chunks_;
};

}  // namespace cushim::sim
