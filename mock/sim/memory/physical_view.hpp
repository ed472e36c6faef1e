// SPDX-License-Identifier: Apache-2.0
// Physical memory as this process sees it.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/bound_memory.hpp"
#include "memory/virtual_memory.hpp"

namespace cushim::sim {

class PhysicalView final : public BoundMemory {
 public:
  // Returns null on failure, with the reason in errno.
  static std::shared_ptr<PhysicalView> make(std::shared_ptr<PhysicalMemory> memory);
  ~PhysicalView() override;
  PhysicalView(const PhysicalView &) = delete;
  PhysicalView &operator=(const PhysicalView &) = delete;

  std::byte *bytes(std::size_t offset, std::size_t size) const override;

 private:
  PhysicalView(std::shared_ptr<PhysicalMemory> memory, std::byte *mapped)
      : memory_(std::move(memory)), mapped_(mapped) {}

  const std::shared_ptr<PhysicalMemory> memory_;
  std::byte *const mapped_;
};

}  // namespace cushim::sim
