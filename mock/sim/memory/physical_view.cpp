// SPDX-License-Identifier: Apache-2.0
#include "memory/physical_view.hpp"

#include <sys/mman.h>

namespace cushim::sim {

std::shared_ptr<PhysicalView> PhysicalView::make(std::shared_ptr<PhysicalMemory> memory) {
  const std::size_t size = memory->size();
  void *const at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto *const mapped = static_cast<std::byte *>(at);
  std::shared_ptr<PhysicalView> made(new PhysicalView(std::move(memory), mapped));
  return made->memory_->bytes->map(mapped) ? made : nullptr;
}

PhysicalView::~PhysicalView() { munmap(mapped_, memory_->size()); }

std::byte *PhysicalView::bytes(std::size_t offset, std::size_t size) const {
  memory_->bytes->touch(offset, size, mapped_ + offset);
  return mapped_ + offset;
}

}  // namespace cushim::sim
