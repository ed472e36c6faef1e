// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/service.hpp"
#include "graphs/capturing.hpp"
#include "memory/array_tiles.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {
namespace {

MipmappedArray &find_despite_fault(Call &call, CUmipmappedArray handle, CUresult otherwise) {
  MipmappedArray *const found = call.system.handles.find<MipmappedArray>(handle);
  if (found == nullptr || !found->is_usable()) {
    call.report_misuse(handle, Kind::mipmapped_array);
    fail(otherwise);
  }
  return *found;
}

MipmappedArray &find(Call &call, CUmipmappedArray handle) {
  return require_healthy(find_despite_fault(call, handle, CUDA_ERROR_INVALID_HANDLE));
}

// Returns the maximum number of levels: the last has an extent of 1 in all dimensions.
unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  std::size_t longest = std::max(shape.Width, shape.Height);
  if (!is_layered(shape)) longest = std::max(longest, shape.Depth);
  unsigned levels = 1;
  while (longest >>= 1) ++levels;
  return levels;
}

// Returns the size of some levels. All levels of a layer are together. Measured, driver 580.
std::size_t memory_from(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned first, std::size_t levels) {
  constexpr std::size_t unit = 4096;
  std::size_t bytes = 0;
  for (unsigned level = first; level < levels; ++level) bytes += padded_size(level_of(shape, level));
  if (is_layered(shape) && levels > first + 1) bytes = rounded_up(bytes / shape.Depth, unit) * shape.Depth;
  return rounded_up(bytes, kArrayUnit);
}

// Returns the first level of the mip tail of a sparse array: the first that is smaller than a tile.
unsigned first_level_of_tail(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned count) {
  const Tile tile = tile_of(shape);
  for (unsigned level = 0; level < count; ++level) {
    const CUDA_ARRAY3D_DESCRIPTOR part = level_of(shape, level);
    if (part.Width < tile.width || part.Height < tile.height || (tile.depth > 1 && part.Depth < tile.depth))
      return level;
  }
  return count;
}

// Returns null for an array that has memory from the start.
std::shared_ptr<MipTail> make_tail(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned count) {
  if (!is_sparse(shape) && !is_deferred(shape)) return nullptr;
  auto tail = std::make_shared<MipTail>();
  tail->first_level = is_sparse(shape) ? first_level_of_tail(shape, count) : 0;
  if (tail->first_level < count) tail->size = memory_from(shape, tail->first_level, count);
  return tail;
}

// Gives the levels their tiles, and those of the tail their places in it.
void add_tiles(Context &context, const MipmappedArray &whole) {
  std::size_t offset = 0;
  for (std::size_t level = 0; level < whole.levels.size(); ++level) {
    Array &array = *whole.levels[level];
    array.tiles = std::make_shared<ArrayTiles>(context, array.shape);
    if (level < whole.tail->first_level) continue;
    array.tiles->map.join(whole.tail, offset);
    const std::size_t bytes =
        is_layered(array.shape) ? array.extent.row * array.extent.rows : array.extent.bytes();
    offset += rounded_up(bytes, std::size_t{16});  // the size of the largest element
  }
}

CUresult create(Call &call, CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *wanted,
                unsigned wanted_levels) {
  Context &context = call.context();
  require(out != nullptr && wanted != nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR shape = with_extents_of_32_bits(*wanted);
  const CUresult checked = check(*context.device, shape, Levels::many);
  require(checked == CUDA_SUCCESS, checked);
  const unsigned count = std::clamp(wanted_levels, 1u, most_levels(shape));
  auto whole = std::make_unique<MipmappedArray>();
  whole->levels.reserve(count);
  std::vector<std::unique_ptr<Array>> levels(count);
  for (auto &level : levels) level = std::make_unique<Array>();
  call.system.handles.reserve(1 + std::size_t{count});  // throws before memory is allocated
  Allocation *const allocation = call.allocate_array(context, shape, memory_from(shape, 0, count));
  MipmappedArray &made = call.system.handles.add(std::move(whole));
  made.context = &context;
  made.join(context.objects);
  made.shape = shape;
  made.allocation = allocation;
  std::size_t offset = 0;
  for (unsigned level = 0; level < count; ++level) {
    Array &array = call.system.handles.add(std::move(levels[level]));
    array.context = &context;
    array.join(context.objects);
    array.shape = level_of(shape, level);
    array.extent = extent_of(array.shape);
    array.allocation = allocation;
    array.offset = offset;
    array.whole = &made;
    offset += array.extent.bytes();
    made.levels.push_back(&array);
  }
  made.tail = make_tail(shape, count);
  if (made.tail != nullptr) add_tiles(context, made);
  *out = reinterpret_cast<CUmipmappedArray>(made.handle);
  return CUDA_SUCCESS;
}

CUresult get_level(Call &call, CUarray *out, CUmipmappedArray handle, unsigned level) {
  const MipmappedArray &array = find(call, handle);
  require(out != nullptr && level < array.levels.size());
  *out = reinterpret_cast<CUarray>(array.levels[level]->handle);
  return CUDA_SUCCESS;
}

// Waits for the work that may use the array.
CUresult destroy(Call &call, CUmipmappedArray handle) {
  const MipmappedArray &array = find(call, handle);
  require_no_strict_capture(call);
  if (array.tail != nullptr) {  // the wait releases the lock
    std::vector<Work> works;
    for (const Array *level : array.levels)
      for (const Work &work : Call::works_of(level->tiles->memory)) works.push_back(work);
    call.wait(works);
    find(call, handle);
  }
  if (array.allocation != nullptr) call.release(*array.allocation, CUDA_ERROR_INVALID_HANDLE);
  for (const Array *level : array.levels) call.system.handles.erase(*level);
  call.system.handles.erase(array);
  return CUDA_SUCCESS;
}

CUresult get_memory_requirements(Call &call, CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUmipmappedArray handle,
                                 CUdevice) {
  require(out != nullptr && handle != nullptr);
  const MipmappedArray &array = find_despite_fault(call, handle, CUDA_ERROR_INVALID_VALUE);
  require(is_deferred(array.shape));
  *out = {};
  out->size = memory_from(array.shape, 0, array.levels.size());
  out->alignment = kArrayUnit;
  return CUDA_SUCCESS;
}

CUresult get_sparse_properties(Call &call, CUDA_ARRAY_SPARSE_PROPERTIES *out, CUmipmappedArray handle) {
  require(out != nullptr && handle != nullptr);
  const MipmappedArray &array = find_despite_fault(call, handle, CUDA_ERROR_INVALID_VALUE);
  require(is_sparse(array.shape));
  const Tile tile = tile_of(array.shape);
  *out = {};
  out->tileExtent.width = tile.width;
  out->tileExtent.height = tile.height;
  out->tileExtent.depth = tile.depth;
  out->miptailFirstLevel = array.tail->first_level;
  out->miptailSize = array.tail->size;
  if (out->miptailFirstLevel == 0) out->flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_mipmapped_arrays = {
    entry<"cuMipmappedArrayCreate", create>,
    entry<"cuMipmappedArrayGetLevel", get_level>,
    entry<"cuMipmappedArrayDestroy", destroy>,
    entry<"cuMipmappedArrayGetMemoryRequirements", get_memory_requirements>,
    entry<"cuMipmappedArrayGetSparseProperties", get_sparse_properties>,
};

}  // namespace cushim::sim
