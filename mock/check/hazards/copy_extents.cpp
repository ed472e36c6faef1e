// SPDX-License-Identifier: Apache-2.0
#include "hazards/copy_extents.hpp"

namespace cushim::check {
namespace {

struct Side {
  CUmemorytype type{};
  std::uint64_t host = 0, device = 0;
  CUarray array = nullptr;
  std::uint64_t x = 0, y = 0, z = 0, pitch = 0, height = 0;  // pitch and height are unused for arrays
};

HazardModel::Use use_of(const Side &side, std::uint64_t width, std::uint64_t rows, std::uint64_t layers,
                        bool is_target) {
  HazardModel::Use use{.extent = {.begin = 0, .width = width, .rows = rows, .layers = layers},
                       .kind = is_target ? Access::Kind::write : Access::Kind::read};
  Extent &extent = use.extent;
  if (side.type == CU_MEMORYTYPE_ARRAY) {
    use.array = side.array;
    extent.begin = side.z * kLayerOfArray + side.y * kRowOfArray + side.x;
    extent.pitch = kRowOfArray;
    extent.layer_pitch = kLayerOfArray;
    return use;
  }
  use.is_host = side.type != CU_MEMORYTYPE_DEVICE;
  extent.pitch = side.pitch != 0 ? side.pitch : side.x + width;
  extent.layer_pitch = extent.pitch * (side.height != 0 ? side.height : side.y + rows);
  extent.begin = (side.type == CU_MEMORYTYPE_HOST ? side.host : side.device) + side.z * extent.layer_pitch +
                 side.y * extent.pitch + side.x;
  return use;
}

std::uint64_t number(const void *pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// Returns the fields of one end that 2D and 3D descriptors share.
template <class Copy>
Side plane_of(const Copy &copy, bool is_target) {
  if (is_target)
    return {copy.dstMemoryType,
            number(copy.dstHost),
            copy.dstDevice,
            copy.dstArray,
            copy.dstXInBytes,
            copy.dstY,
            0,
            copy.dstPitch,
            0};
  return {copy.srcMemoryType,
          number(copy.srcHost),
          copy.srcDevice,
          copy.srcArray,
          copy.srcXInBytes,
          copy.srcY,
          0,
          copy.srcPitch,
          0};
}

template <class Copy>
HazardModel::Use use_of_box(const Copy &copy, bool is_target) {
  Side side = plane_of(copy, is_target);
  side.z = is_target ? copy.dstZ : copy.srcZ;
  side.height = is_target ? copy.dstHeight : copy.srcHeight;
  return use_of(side, copy.WidthInBytes, copy.Height, copy.Depth, is_target);
}

}  // namespace

HazardModel::Use use_of(const CUDA_MEMCPY2D &copy, bool is_target) {
  return use_of(plane_of(copy, is_target), copy.WidthInBytes, copy.Height, 1, is_target);
}

HazardModel::Use use_of(const CUDA_MEMCPY3D &copy, bool is_target) { return use_of_box(copy, is_target); }

HazardModel::Use use_of(const CUDA_MEMCPY3D_PEER &copy, bool is_target) {
  return use_of_box(copy, is_target);
}

#if CUDA_VERSION >= 12080
HazardModel::Use use_of(const CUDA_MEMCPY3D_BATCH_OP &copy, std::uint64_t element, bool is_target) {
  const CUmemcpy3DOperand &operand = is_target ? copy.dst : copy.src;
  Side side{};
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto &end = operand.op.array;
    side = {.type = CU_MEMORYTYPE_ARRAY,
            .array = end.array,
            .x = end.offset.x * element,
            .y = end.offset.y,
            .z = end.offset.z};
  } else {
    const auto &end = operand.op.ptr;
    side = {.type = CU_MEMORYTYPE_UNIFIED,
            .device = end.ptr,
            .pitch = end.rowLength * element,
            .height = end.layerHeight};
  }
  return use_of(side, copy.extent.width * element, copy.extent.height, copy.extent.depth, is_target);
}
#endif

HazardModel::Use use_of_array(CUarray array, std::uint64_t offset, std::uint64_t size, Access::Kind kind) {
  return {.extent = Extent::of(offset, size), .kind = kind, .array = array};
}

}  // namespace cushim::check
