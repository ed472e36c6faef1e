// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "memory/virtual_memory.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

// Memory that cuImportExternalMemory has imported. Its buffers are allocations, which outlive it.
struct ExternalMemory : ObjectOf<Kind::external_memory> {
  ExternalMemory(std::shared_ptr<PhysicalMemory> of, std::size_t bytes)
      : memory(std::move(of)), size(bytes) {}

  const std::shared_ptr<PhysicalMemory> memory;
  const std::size_t size;  // as imported; may exceed that of the memory
};

}  // namespace cushim::sim
