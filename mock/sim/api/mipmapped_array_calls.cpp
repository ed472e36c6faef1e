// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/service.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {
namespace {

MipmappedArray &find(Call &call, CUmipmappedArray handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
  MipmappedArray *const found = call.system.handles.find<MipmappedArray>(handle);
  if (found == nullptr || !found->is_usable()) {
    call.report_misuse(handle, Kind::mipmapped_array);
    fail(otherwise);
  }
  return *found;
}

// Returns the maximum number of levels: the last has an extent of 1 in all dimensions.
unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  std::size_t longest = std::max(shape.Width, shape.Height);
  if (!is_layered(shape)) longest = std::max(longest, shape.Depth);
  unsigned levels = 1;
  while (longest >>= 1) ++levels;
  return levels;
}

std::size_t memory_from(const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned first, std::size_t levels) {
  std::size_t bytes = 0;
  for (unsigned level = first; level < levels; ++level) bytes += extent_of(level_of(shape, level)).bytes();
  return rounded_up(bytes, kArrayUnit);
}

CUresult create(Call &call, CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned wanted) {
  Context &context = call.context();
  require(out != nullptr && shape != nullptr);
  require(is_valid(*context.device, *shape, Levels::many));
  const unsigned count = std::clamp(wanted, 1u, most_levels(*shape));
  auto whole = std::make_unique<MipmappedArray>();
  whole->levels.reserve(count);
  std::vector<std::unique_ptr<Array>> levels(count);
  for (auto &level : levels) level = std::make_unique<Array>();
  call.system.handles.reserve(1 + std::size_t{count});  // throws before memory is allocated
  Allocation *const allocation = call.allocate_array(context, *shape, memory_from(*shape, 0, count));
  MipmappedArray &made = call.system.handles.add(std::move(whole));
  made.context = &context;
  made.join(context.objects);
  made.shape = *shape;
  made.allocation = allocation;
  std::size_t offset = 0;
  for (unsigned level = 0; level < count; ++level) {
    Array &array = call.system.handles.add(std::move(levels[level]));
    array.context = &context;
    array.join(context.objects);
    array.shape = level_of(*shape, level);
    array.extent = extent_of(array.shape);
    array.allocation = allocation;
    array.offset = offset;
    array.whole = &made;
    offset += array.extent.bytes();
    made.levels.push_back(&array);
  }
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
  if (array.allocation != nullptr) call.release(*array.allocation, CUDA_ERROR_INVALID_HANDLE);
  for (const Array *level : array.levels) call.system.handles.erase(*level);
  call.system.handles.erase(array);
  return CUDA_SUCCESS;
}

CUresult get_memory_requirements(Call &call, CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUmipmappedArray handle,
                                 CUdevice) {
  require(out != nullptr && handle != nullptr);
  const MipmappedArray &array = find(call, handle, CUDA_ERROR_INVALID_VALUE);
  require(is_deferred(array.shape));
  *out = {};
  out->size = memory_from(array.shape, 0, array.levels.size());
  out->alignment = kArrayUnit;
  return CUDA_SUCCESS;
}

CUresult get_sparse_properties(Call &call, CUDA_ARRAY_SPARSE_PROPERTIES *out, CUmipmappedArray handle) {
  require(out != nullptr && handle != nullptr);
  const MipmappedArray &array = find(call, handle, CUDA_ERROR_INVALID_VALUE);
  require(is_sparse(array.shape));
  const Tile tile = tile_of(array.shape);
  *out = {};
  out->tileExtent.width = tile.width;
  out->tileExtent.height = tile.height;
  out->tileExtent.depth = tile.depth;
  // The mip tail: all levels from the first that is smaller than a tile.
  const auto first = std::find_if(array.levels.begin(), array.levels.end(), [&](const Array *level) {
    return level->shape.Width < tile.width || level->shape.Height < tile.height;
  });
  if (first != array.levels.end()) {
    out->miptailFirstLevel = static_cast<unsigned>(first - array.levels.begin());
    out->miptailSize = memory_from(array.shape, out->miptailFirstLevel, array.levels.size());
  }
  return CUDA_SUCCESS;
}

}  // namespace

void serve_mipmapped_arrays(Service &service) {
  service.serve<"cuMipmappedArrayCreate", create>();
  service.serve<"cuMipmappedArrayGetLevel", get_level>();
  service.serve<"cuMipmappedArrayDestroy", destroy>();
  service.serve<"cuMipmappedArrayGetMemoryRequirements", get_memory_requirements>();
  service.serve<"cuMipmappedArrayGetSparseProperties", get_sparse_properties>();
}

}  // namespace cushim::sim
