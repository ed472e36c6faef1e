// SPDX-License-Identifier: Apache-2.0
#include "pointer_attributes.hpp"

#include "memory_walks.hpp"

namespace differential {

std::optional<PointerAttribute> an_attribute(Walk &w, const Argument<CUdeviceptr> &address) {
  const auto which = static_cast<CUpointer_attribute>(w.dice.below(23));
  if (which == CU_POINTER_ATTRIBUTE_P2P_TOKENS) return std::nullopt;  // not simulated
  std::uint64_t value[4] = {};                                        // large enough for every attribute
  if (CALL(w, cuPointerGetAttribute, Argument<void *>{&value, "&value"}, numbered("attribute", which),
           address) != CUDA_SUCCESS)
    return std::nullopt;
  return PointerAttribute{which, value[0]};
}

void also_attribute(Walk &w, const PointerAttribute &attribute) {
  switch (attribute.which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      w.also(w.name_of(reinterpret_cast<CUcontext>(attribute.value)));
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      w.also(w.name_of(CUdeviceptr{attribute.value}));
      break;
    default:
      w.also(std::to_string(attribute.value));
  }
}

}  // namespace differential
