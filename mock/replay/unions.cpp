// SPDX-License-Identifier: Apache-2.0
#include "unions.hpp"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "bits.hpp"

namespace cushim::replay {

std::optional<std::string> replace_unions(const trace::Type &type, const char *recorded, char *object,
                                          const Mapping &mapping) {
  const auto replace = [&](std::string_view kind, std::size_t offset) -> std::optional<std::string> {
    std::uint64_t handle = 0;
    std::memcpy(&handle, recorded + offset, sizeof handle);
    const auto replayed = mapping.handle(kind, handle);
    if (handle != 0 && !replayed) return "its " + std::string(kind) + " is unknown";
    if (replayed) std::memcpy(object + offset, &*replayed, sizeof *replayed);
    return std::nullopt;
  };
  if (&type == &trace::type_of<CUDA_RESOURCE_DESC>()) {
    CUDA_RESOURCE_DESC resource;
    std::memcpy(&resource, recorded, sizeof resource);
    if (resource.resType == CU_RESOURCE_TYPE_ARRAY)
      return replace("array", offsetof(CUDA_RESOURCE_DESC, res.array.hArray));
    if (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
      return replace("mipmapped array", offsetof(CUDA_RESOURCE_DESC, res.mipmap.hMipmappedArray));
  }
  if (&type == &trace::type_of<CUarrayMapInfo>()) {
    CUarrayMapInfo mapped;
    std::memcpy(&mapped, recorded, sizeof mapped);
    const bool is_array = mapped.resourceType == CU_RESOURCE_TYPE_ARRAY;
    if (is_array || mapped.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
      return replace(is_array ? "array" : "mipmapped array", offsetof(CUarrayMapInfo, resource));
  }
#if CUDA_VERSION >= 11080
  if (&type == &trace::type_of<CUlaunchAttribute>()) {
    CUlaunchAttribute attribute;
    std::memcpy(&attribute, recorded, sizeof attribute);
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
      return replace("event", offsetof(CUlaunchAttribute, value.programmaticEvent.event));
#if CUDA_VERSION >= 12030
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      return replace("event", offsetof(CUlaunchAttribute, value.launchCompletionEvent.event));
#endif
  }
#endif
#if CUDA_VERSION >= 12080
  if (&type == &trace::type_of<CUDA_MEMCPY3D_BATCH_OP>()) {
    CUDA_MEMCPY3D_BATCH_OP copy;
    std::memcpy(&copy, recorded, sizeof copy);
    for (const bool is_source : {true, false}) {
      const CUmemcpy3DOperand &operand = is_source ? copy.src : copy.dst;
      const std::string name = is_source ? "src" : "dst";
      // The object has null where pageable memory was provided.
      const std::uint64_t given =
          bits_at(object + (is_source ? offsetof(CUDA_MEMCPY3D_BATCH_OP, src.op.ptr.ptr)
                                      : offsetof(CUDA_MEMCPY3D_BATCH_OP, dst.op.ptr.ptr)),
                  sizeof given);
      if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER && operand.op.ptr.ptr != 0 && given != 0 &&
          mapping.memory_at(operand.op.ptr.ptr) == nullptr)
        return "the memory of " + name + " is unknown";
      if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) continue;
      constexpr std::size_t kSource = offsetof(CUDA_MEMCPY3D_BATCH_OP, src.op.array.array),
                            kDestination = offsetof(CUDA_MEMCPY3D_BATCH_OP, dst.op.array.array);
      if (auto reason = replace("array", is_source ? kSource : kDestination)) return reason;
    }
  }
#endif
  return std::nullopt;
}

void clear_unused_operands(const trace::Type &type, char *object) {
  const auto clear = [&](auto copy) {
    std::memcpy(&copy, object, sizeof copy);
    const auto is_device = [](CUmemorytype memory) {
      return memory == CU_MEMORYTYPE_DEVICE || memory == CU_MEMORYTYPE_UNIFIED;
    };
    if (copy.srcMemoryType != CU_MEMORYTYPE_HOST) copy.srcHost = nullptr;
    if (copy.srcMemoryType != CU_MEMORYTYPE_ARRAY) copy.srcArray = nullptr;
    if (!is_device(copy.srcMemoryType)) copy.srcDevice = 0;
    if (copy.dstMemoryType != CU_MEMORYTYPE_HOST) copy.dstHost = nullptr;
    if (copy.dstMemoryType != CU_MEMORYTYPE_ARRAY) copy.dstArray = nullptr;
    if (!is_device(copy.dstMemoryType)) copy.dstDevice = 0;
    std::memcpy(object, &copy, sizeof copy);
  };
  if (&type == &trace::type_of<CUDA_MEMCPY2D>())
    clear(CUDA_MEMCPY2D{});
  else if (&type == &trace::type_of<CUDA_MEMCPY3D>())
    clear(CUDA_MEMCPY3D{});
  else if (&type == &trace::type_of<CUDA_MEMCPY3D_PEER>())
    clear(CUDA_MEMCPY3D_PEER{});
}

}  // namespace cushim::replay
