// SPDX-License-Identifier: Apache-2.0
// Physical memory mapped to sparse arrays, and to arrays with deferred mapping. Measured on an H200, driver
// 580, except where noted.
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "api/service.hpp"
#include "memory/array_tiles.hpp"

namespace cushim::sim {
namespace {

// Tiles of an array: the first one, and how many in each dimension.
struct TileBox {
  TileMap::Index first{}, count{};

  std::size_t size() const { return count[0] * count[1] * count[2]; }
};

// Returns the tiles from `offset` on; the extent must be of whole tiles, except at the end of the array.
void set_tiles(TileBox &box, int dimension, std::size_t offset, std::size_t extent, std::size_t tile,
               std::size_t whole) {
  require(extent != 0 && offset % tile == 0 && offset <= whole && extent <= whole - offset);
  require(extent % tile == 0 || offset + extent == whole);
  box.first[static_cast<std::size_t>(dimension)] = offset / tile;
  box.count[static_cast<std::size_t>(dimension)] = (extent + tile - 1) / tile;
}

TileBox tiles_of(const Array &array, const CUarrayMapInfo &info) {
  const auto &part = info.subresource.sparseLevel;
  const auto &shape = array.shape;
  const Tile &tile = array.tiles->map.tile();
  const bool has_layers = is_layered(shape);
  require(has_layers || part.layer == 0);
  const auto at_least_one = [](std::size_t extent) { return extent != 0 ? extent : 1; };
  TileBox box;
  set_tiles(box, 0, part.offsetX, part.extentWidth, tile.width, shape.Width);
  set_tiles(box, 1, part.offsetY, part.extentHeight, tile.height, at_least_one(shape.Height));
  if (has_layers) require(part.offsetZ == 0 && part.extentDepth == 1);
  set_tiles(box, 2, has_layers ? part.layer : part.offsetZ, part.extentDepth, tile.depth,
            at_least_one(shape.Depth));
  return box;
}

// A mapping whose arguments are valid: of tiles of an array, or of tiles of a mip tail.
struct Change {
  std::vector<std::shared_ptr<ArrayTiles>> arrays;  // that it concerns
  TileBox box{};
  std::shared_ptr<MipTail> tail{};  // null: tiles of the array
  std::size_t layer = 0, first = 0, count = 0;
  TilePart memory{};  // of the first tile; the others follow it

  std::size_t bytes() const { return (tail != nullptr ? count : box.size()) * kTileBytes; }
  void apply() const {
    TilePart part = memory;
    const auto take_next = [&part] {
      TilePart taken = part;
      part.offset += kTileBytes;
      return taken;
    };
    if (tail != nullptr)
      for (std::size_t i = 0; i < count; ++i) tail->map({layer, first + i}, take_next());
    else
      for (std::size_t z = 0; z < box.count[2]; ++z)
        for (std::size_t y = 0; y < box.count[1]; ++y)
          for (std::size_t x = 0; x < box.count[0]; ++x)
            arrays.front()->map.map({box.first[0] + x, box.first[1] + y, box.first[2] + z}, take_next());
  }
};

Change change_of_level(const Array &array, const CUarrayMapInfo &info) {
  return {.arrays = {array.tiles}, .box = tiles_of(array, info)};
}

// The tail is mapped as a whole, or in part by tiles. Parts: not measured.
Change change_of_tail(const MipmappedArray &whole, const CUarrayMapInfo &info) {
  const auto &part = info.subresource.miptail;
  const MipTail &tail = *whole.tail;
  const std::size_t layers = is_layered(whole.shape) ? whole.shape.Depth : 1;
  require(part.layer < layers && part.size != 0);
  require(part.offset % kTileBytes == 0 && part.size % kTileBytes == 0);
  require(part.offset <= tail.size && part.size <= tail.size - part.offset);
  Change change{.arrays = {}, .tail = whole.tail, .layer = part.layer};
  change.first = part.offset / kTileBytes;
  change.count = part.size / kTileBytes;
  for (std::size_t level = tail.first_level; level < whole.levels.size(); ++level)
    change.arrays.push_back(whole.levels[level]->tiles);
  return change;
}

Change change_of_whole(Call &call, const CUarrayMapInfo &info, bool is_tail) {
  const auto *const whole = call.system.handles.find<MipmappedArray>(info.resource.mipmap);
  require(whole != nullptr && whole->is_usable() && whole->tail != nullptr);
  require(info.deviceBitMask == 1u << whole->context->device->ordinal);
  if (is_tail) return change_of_tail(*whole, info);
  const unsigned level = info.subresource.sparseLevel.level;
  require(level < (is_sparse(whole->shape) ? whole->tail->first_level : whole->levels.size()));
  return change_of_level(*whole->levels[level], info);
}

// Levels of a mipmapped array are mapped by its handle only.
Change change_of_array(Call &call, const CUarrayMapInfo &info, bool is_tail) {
  if (is_tail) {
    call.system.engine.report(std::string(call.name) + ": mip tails of arrays are not implemented");
    fail(CUDA_ERROR_NOT_SUPPORTED);
  }
  const Array &array = call.array(info.resource.array, CUDA_ERROR_INVALID_VALUE);
  require(array.tiles != nullptr && array.whole == nullptr);
  require(info.deviceBitMask == 1u << array.context->device->ordinal);
  require(info.subresource.sparseLevel.level == 0);
  return change_of_level(array, info);
}

// Only memory for tiles can be mapped (CU_MEM_CREATE_USAGE_TILE_POOL).
TilePart memory_of(Call &call, const CUarrayMapInfo &info, const Change &change) {
  const std::shared_ptr<PhysicalMemory> physical = call.physical_handle(info.memHandle.memHandle).memory;
  require(physical->is_tile_pool && physical->device == change.arrays.front()->memory.device);
  const std::size_t needed = change.bytes(), size = physical->size();
  require(info.offset % kTileBytes == 0 && info.offset <= size && needed <= size - info.offset);
  auto view = PhysicalView::make(physical);
  if (view == nullptr) {
    report_limit(call.name, errno);
    fail(CUDA_ERROR_OUT_OF_MEMORY);
  }
  return {std::move(view), static_cast<std::size_t>(info.offset)};
}

Change change_of(Call &call, const CUarrayMapInfo &info) {
  require(info.flags == 0 && info.reserved[0] == 0 && info.reserved[1] == 0);
  require(info.memHandleType == CU_MEM_HANDLE_TYPE_GENERIC);
  const bool is_mapping = info.memOperationType == CU_MEM_OPERATION_TYPE_MAP;
  require(is_mapping || info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP);
  const bool is_tail = info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  require(is_tail || info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL);
  const bool is_array = info.resourceType == CU_RESOURCE_TYPE_ARRAY;
  require(is_array || info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
  Change change = is_array ? change_of_array(call, info, is_tail) : change_of_whole(call, info, is_tail);
  if (is_mapping) change.memory = memory_of(call, info, change);
  return change;
}

CUresult map(Call &call, CUarrayMapInfo *list, unsigned count, CUstream handle) {
  require(list != nullptr && count != 0);
  Stream &stream = call.stream(handle);
  std::vector<Change> changes;
  changes.reserve(count);
  for (unsigned i = 0; i < count; ++i) changes.push_back(change_of(call, list[i]));
  std::vector<std::shared_ptr<ArrayTiles>> users;
  for (const Change &change : changes) users.insert(users.end(), change.arrays.begin(), change.arrays.end());
  for (const auto &tiles : users) tiles->memory.reserve_user();
  Operation operation{.cost = call.costs(*stream.context).memory_operation};
  operation.run = [changes = std::move(changes)](Move &) {
    for (const Change &change : changes) change.apply();
  };
  const Work work = call.add(stream, std::move(operation));
  for (const auto &tiles : users) tiles->memory.add_user(work);
  call.start(work);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_array_mappings = {entry<"cuMemMapArrayAsync", map>};

}  // namespace cushim::sim
