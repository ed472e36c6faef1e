// SPDX-License-Identifier: Apache-2.0
#include "memory/array_tiles.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

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

ArrayTiles::ArrayTiles(Context &context, const CUDA_ARRAY3D_DESCRIPTOR &shape)
    : is_deferred_(is_deferred(shape)),
      tile_(tile_of(shape)),
      row_bytes_(extent_of({.Width = tile_.width,
                            .Height = 0,
                            .Depth = 0,
                            .Format = shape.Format,
                            .NumChannels = shape.NumChannels,
                            .Flags = 0})
                     .row) {
  memory.context = &context;
  memory.device = context.device;
  memory.is_of_array = true;
}

void ArrayTiles::map(const Index &index, const Part &part) {
  if (part.view != nullptr)
    parts_[index] = part;
  else
    parts_.erase(index);
}

// Visits the parts of a row: visit(bytes, size), with null for a tile without memory.
template <class Visit>
void ArrayTiles::for_each_part(std::size_t x, std::size_t y, std::size_t z, std::size_t size,
                               Visit visit) const {
  const std::size_t depth = tile_.depth, rows = kTileBytes / row_bytes_ / depth;
  for (const std::size_t end = x + size; x < end;) {
    const std::size_t count = std::min(end - x, row_bytes_ - x % row_bytes_);
    const auto found = parts_.find({x / row_bytes_, y / rows, z / depth});
    const std::size_t offset = ((z % depth) * rows + y % rows) * row_bytes_ + x % row_bytes_;
    visit(found != parts_.end() ? found->second.view->bytes(found->second.offset + offset, count) : nullptr,
          count);
    x += count;
  }
}

void ArrayTiles::read(std::size_t x, std::size_t y, std::size_t z, std::size_t size, std::byte *out) const {
  for_each_part(x, y, z, size, [&](const std::byte *bytes, std::size_t count) {
    if (bytes != nullptr)
      std::memcpy(out, bytes, count);
    else
      std::memset(out, 0, count);
    out += count;
  });
}

void ArrayTiles::write(std::size_t x, std::size_t y, std::size_t z, std::size_t size,
                       const std::byte *from) const {
  for_each_part(x, y, z, size, [&](std::byte *bytes, std::size_t count) {
    if (bytes != nullptr) std::memcpy(bytes, from, count);
    from += count;
  });
}

}  // namespace cushim::sim
