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
  ArrayTiles::Index first{}, count{};

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
  const Tile &tile = array.tiles->tile();
  const bool has_layers = is_layered(shape);
  require(part.level == 0 && (has_layers || part.layer == 0));
  const auto at_least_one = [](std::size_t extent) { return extent != 0 ? extent : 1; };
  TileBox box;
  set_tiles(box, 0, part.offsetX, part.extentWidth, tile.width, shape.Width);
  set_tiles(box, 1, part.offsetY, part.extentHeight, tile.height, at_least_one(shape.Height));
  if (has_layers) require(part.offsetZ == 0 && part.extentDepth == 1);  // not measured
  set_tiles(box, 2, has_layers ? part.layer : part.offsetZ, part.extentDepth, tile.depth,
            at_least_one(shape.Depth));
  return box;
}

Array &array_of(Call &call, const CUarrayMapInfo &info) {
  require(info.resourceType == CU_RESOURCE_TYPE_ARRAY ||
          info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
  const bool is_tail = info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  require(is_tail || info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL);
  if (is_tail || info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    call.system.engine.report(std::string(call.name) +
                              ": mipmapped arrays and mip tails are not implemented");
    fail(CUDA_ERROR_NOT_SUPPORTED);
  }
  Array &array = call.array(info.resource.array, CUDA_ERROR_INVALID_VALUE);
  require(array.tiles != nullptr);
  return array;
}

// A mapping whose arguments are valid.
struct Change {
  std::shared_ptr<ArrayTiles> tiles;
  TileBox box;
  ArrayTiles::Part memory;  // of the first tile; the others follow it

  void apply() const {
    ArrayTiles::Part part = memory;
    for (std::size_t z = 0; z < box.count[2]; ++z)
      for (std::size_t y = 0; y < box.count[1]; ++y)
        for (std::size_t x = 0; x < box.count[0]; ++x) {
          tiles->map({box.first[0] + x, box.first[1] + y, box.first[2] + z}, part);
          part.offset += kTileBytes;
        }
  }
};

// Only memory for tiles can be mapped (CU_MEM_CREATE_USAGE_TILE_POOL).
ArrayTiles::Part memory_of(Call &call, const CUarrayMapInfo &info, const Array &array, const TileBox &box) {
  const std::shared_ptr<PhysicalMemory> physical = call.physical_handle(info.memHandle.memHandle).memory;
  require(physical->is_tile_pool && physical->device == array.context->device);
  const std::size_t needed = box.size() * kTileBytes, size = physical->size();
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
  const Array &array = array_of(call, info);
  require(info.deviceBitMask == 1u << array.context->device->ordinal);
  const TileBox box = tiles_of(array, info);
  return {array.tiles, box, is_mapping ? memory_of(call, info, array, box) : ArrayTiles::Part{}};
}

CUresult map(Call &call, CUarrayMapInfo *list, unsigned count, CUstream handle) {
  Stream &stream = call.stream(handle);
  require(list != nullptr && count != 0);
  std::vector<Change> changes;
  changes.reserve(count);
  for (unsigned i = 0; i < count; ++i) changes.push_back(change_of(call, list[i]));
  for (const Change &change : changes) change.tiles->memory.reserve_user();
  std::vector<std::shared_ptr<ArrayTiles>> users;
  for (const Change &change : changes) users.push_back(change.tiles);
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

void serve_array_mappings(Service &service) { service.serve<"cuMemMapArrayAsync", map>(); }

}  // namespace cushim::sim
