// SPDX-License-Identifier: Apache-2.0
#include "api/service.hpp"
#include "graphs/capturing.hpp"
#include "memory/array_tiles.hpp"

namespace cushim::sim {
namespace {

CUresult create(Call &call, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *wanted) {
  Context &context = call.context();
  require(out != nullptr && wanted != nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR shape = with_extents_of_32_bits(*wanted);
  const CUresult checked = check(*context.device, shape, Levels::one);
  require(checked == CUDA_SUCCESS, checked);
  auto array = std::make_unique<Array>();
  auto tiles =
      is_sparse(shape) || is_deferred(shape) ? std::make_shared<ArrayTiles>(context, shape) : nullptr;
  call.system.handles.reserve(1);  // throws before memory is allocated
  Allocation *const allocation = call.allocate_array(context, shape, memory_needed(shape));
  Array &made = call.system.handles.add(std::move(array));
  made.context = &context;
  made.join(context.objects);
  made.shape = shape;
  made.extent = extent_of(shape);
  made.allocation = allocation;
  made.tiles = std::move(tiles);
  *out = reinterpret_cast<CUarray>(made.handle);
  return CUDA_SUCCESS;
}

CUresult create_plane(Call &call, CUarray *out, const CUDA_ARRAY_DESCRIPTOR *shape) {
  call.context();
  require(out != nullptr && shape != nullptr);
  CUDA_ARRAY3D_DESCRIPTOR whole = {};
  whole.Width = shape->Width;
  whole.Height = shape->Height;
  whole.Format = shape->Format;
  whole.NumChannels = shape->NumChannels;
  return create(call, out, &whole);
}

CUresult get_descriptor(Call &call, CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle) {
  const Array &array = call.array(handle);
  require(out != nullptr);
  *out = array.shape;
  return CUDA_SUCCESS;
}

CUresult get_plane_descriptor(Call &call, CUDA_ARRAY_DESCRIPTOR *out, CUarray handle) {
  const Array &array = call.array(handle);
  require(out != nullptr);
  out->Width = array.shape.Width;
  out->Height = array.shape.Height;
  out->Format = array.shape.Format;
  out->NumChannels = array.shape.NumChannels;
  return CUDA_SUCCESS;
}

template <class Descriptor>
CUresult get_descriptor_of_32_bits(Call &call, Descriptor *, CUarray handle) {
  return call.array(handle), kNeeds32BitAddresses;
}

// Waits for the work that may use the array.
CUresult destroy(Call &call, CUarray handle) {
  const Array &array = call.array(handle);
  require_no_strict_capture(call);
  if (array.whole != nullptr) return CUDA_SUCCESS;  // destroyed with its mipmapped array
  if (const auto tiles = array.tiles) {             // the wait releases the lock
    call.wait(Call::works_of(tiles->memory));
    require(call.system.handles.find<Array>(handle) != nullptr, CUDA_ERROR_INVALID_HANDLE);
  }
  if (array.allocation != nullptr) call.release(*array.allocation, CUDA_ERROR_INVALID_HANDLE);
  call.system.handles.erase(array);
  return CUDA_SUCCESS;
}

// Formats of several planes are not supported.
CUresult get_plane(Call &call, CUarray *, CUarray handle, unsigned) {
  call.array(handle);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult get_memory_requirements(Call &call, CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray handle, CUdevice) {
  require(out != nullptr && handle != nullptr);
  const Array &array = call.array_despite_fault(handle, CUDA_ERROR_INVALID_VALUE);
  require(is_deferred(array.shape) && array.whole == nullptr);
  *out = {};
  out->size = memory_needed(array.shape);
  out->alignment = kArrayUnit;
  return CUDA_SUCCESS;
}

CUresult get_sparse_properties(Call &call, CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray handle) {
  require(out != nullptr && handle != nullptr);
  const Array &array = call.array_despite_fault(handle, CUDA_ERROR_INVALID_VALUE);
  require(is_sparse(array.shape) && array.whole == nullptr);
  const Tile tile = tile_of(array.shape);
  *out = {};
  out->tileExtent.width = tile.width;
  out->tileExtent.height = tile.height;
  out->tileExtent.depth = tile.depth;
  // An array smaller than a tile is mapped as a whole.
  const bool is_flat = !is_layered(array.shape) && array.shape.Depth < tile.depth && tile.depth > 1;
  if (array.shape.Width < tile.width || array.shape.Height < tile.height || is_flat) {
    out->miptailSize = memory_needed(array.shape);
    out->flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
  }
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_arrays = {
    entries_with_result<kNeeds32BitAddresses, "cuArrayCreate_v2000", "cuArray3DCreate_v2000">,
    entry<"cuArrayCreate", create_plane>,
    entry<"cuArray3DCreate", create>,
    entry<"cuArrayGetDescriptor_v2000", get_descriptor_of_32_bits<CushimArrayDescriptor_v1>>,
    entry<"cuArrayGetDescriptor", get_plane_descriptor>,
    entry<"cuArray3DGetDescriptor_v2000", get_descriptor_of_32_bits<CushimArray3DDescriptor_v1>>,
    entry<"cuArray3DGetDescriptor", get_descriptor>,
    entry<"cuArrayDestroy", destroy>,
    entry<"cuArrayGetPlane", get_plane>,
    entry<"cuArrayGetMemoryRequirements", get_memory_requirements>,
    entry<"cuArrayGetSparseProperties", get_sparse_properties>,
};

}  // namespace cushim::sim
