// SPDX-License-Identifier: Apache-2.0
#include "memory/array_tiles.hpp"

#include <algorithm>
#include <cstring>

namespace cushim::sim {

namespace {

template <class Parts, class Index>
void map_part(Parts &parts, const Index &index, const TilePart &part) {
  if (part.view != nullptr)
    parts[index] = part;
  else
    parts.erase(index);
}

}  // namespace

void MipTail::map(const Index &index, const TilePart &part) { map_part(parts, index, part); }

TileMap::TileMap(const CUDA_ARRAY3D_DESCRIPTOR &shape)
    : tile_(tile_of(shape)),
      row_bytes_(extent_of({.Width = tile_.width,
                            .Height = 0,
                            .Depth = 0,
                            .Format = shape.Format,
                            .NumChannels = shape.NumChannels,
                            .Flags = 0})
                     .row),
      element_bytes_(element_of(shape.Format, shape.NumChannels).bytes),
      unit_(row_bytes_),
      extent_(extent_of(shape)),
      has_layers_(is_layered(shape)) {}

void TileMap::map(const Index &index, const TilePart &part) { map_part(parts_, index, part); }

void TileMap::join(std::shared_ptr<MipTail> tail, std::size_t offset) {
  tail_ = std::move(tail);
  tail_offset_ = offset;
  unit_ = element_bytes_;
}

TileMap TileMap::snapshot() const {
  TileMap made(*this);
  if (tail_ != nullptr) made.tail_ = std::make_shared<MipTail>(*tail_);
  return made;
}

std::byte *TileMap::in_tail(std::size_t x, std::size_t y, std::size_t z) const {
  const std::size_t layer = has_layers_ ? z : 0, slice = has_layers_ ? 0 : z;
  const std::size_t offset = tail_offset_ + (slice * extent_.rows + y) * extent_.row + x;
  const auto found = tail_->parts.find({layer, offset / kTileBytes});
  if (found == tail_->parts.end()) return nullptr;
  return found->second.view->bytes(found->second.offset + offset % kTileBytes, 1);
}

std::byte *TileMap::at(std::size_t x, std::size_t y, std::size_t z) const {
  const std::size_t depth = tile_.depth, rows = kTileBytes / row_bytes_ / depth;
  const auto found = parts_.find({x / row_bytes_, y / rows, z / depth});
  if (found == parts_.end()) return tail_ != nullptr ? in_tail(x, y, z) : nullptr;
  const std::size_t offset = ((z % depth) * rows + y % rows) * row_bytes_ + x % row_bytes_;
  return found->second.view->bytes(found->second.offset + offset, rest_of_row(x));
}

ArrayTiles::ArrayTiles(Context &context, const CUDA_ARRAY3D_DESCRIPTOR &shape)
    : map(shape), is_deferred_(is_deferred(shape)) {
  memory.context = &context;
  memory.device = context.device;
  memory.is_of_array = true;
}

// Visits the parts of a row: visit(bytes, size), with null for a tile without memory.
template <class Visit>
void ArrayTiles::for_each_part(std::size_t x, std::size_t y, std::size_t z, std::size_t size,
                               Visit visit) const {
  for (const std::size_t end = x + size; x < end;) {
    const std::size_t count = std::min(end - x, map.rest_of_row(x));
    visit(map.at(x, y, z), count);
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
