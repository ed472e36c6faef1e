// SPDX-License-Identifier: Apache-2.0
// Physical memory as this process sees it.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/virtual_memory.hpp"

namespace cushim::sim {

class PhysicalView {
 public:
  // Returns null on failure, with the reason in errno.
  static std::shared_ptr<PhysicalView> make(std::shared_ptr<PhysicalMemory> memory);
  ~PhysicalView();
  PhysicalView(const PhysicalView &) = delete;
  PhysicalView &operator=(const PhysicalView &) = delete;

  // Returns `size` bytes; poisons them on first touch.
  std::byte *bytes(std::size_t offset, std::size_t size) const;

 private:
  PhysicalView(std::shared_ptr<PhysicalMemory> memory, std::byte *mapped)
      : memory_(std::move(memory)), mapped_(mapped) {}

  const std::shared_ptr<PhysicalMemory> memory_;
  std::byte *const mapped_;
};

}  // namespace cushim::sim
