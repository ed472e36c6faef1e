// SPDX-License-Identifier: Apache-2.0
#include "attribute_values.hpp"

#include <cuda.h>

#include <cstring>

#include "bits.hpp"

namespace cushim::replay {
namespace {

std::uint64_t element(std::uint64_t array, std::size_t index, std::size_t size) {
  return bits_at(reinterpret_cast<const char *>(array) + index * size, size);
}

}  // namespace

std::uint64_t size_of_pointer_attribute(std::uint64_t attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return 4;
    default:
      return 8;
  }
}

bool has_attribute_values(std::string_view base) {
  return base == "cuPointerGetAttributes" || base == "cuMemRangeGetAttributes";
}

std::uint64_t count_of_attribute_values(std::string_view base, std::span<const std::uint64_t> words) {
  return base == "cuPointerGetAttributes" ? words[0] & 0xffffffff : words[3];
}

std::vector<AttributeValue> attribute_values(std::string_view base, std::span<const std::uint64_t> words) {
  std::vector<AttributeValue> values;
  const bool is_of_pointer = base == "cuPointerGetAttributes";
  const std::uint64_t count = count_of_attribute_values(base, words);
  const std::uint64_t attributes = words[is_of_pointer ? 1 : 2], data = words[is_of_pointer ? 2 : 0];
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t attribute = element(attributes, i, sizeof(CUpointer_attribute));
    values.push_back({.attribute = attribute,
                      .address = element(data, i, sizeof(void *)),
                      .size = is_of_pointer ? size_of_pointer_attribute(attribute)
                                            : element(words[1], i, sizeof(std::size_t))});
  }
  return values;
}

std::string pack(const std::vector<AttributeValue> &values) {
  std::string item;
  for (const auto &[attribute, address, wanted] : values) {
    const std::uint32_t size = address != 0 ? static_cast<std::uint32_t>(wanted) : 0;
    item.append(reinterpret_cast<const char *>(&size), sizeof size);
    item.append(reinterpret_cast<const char *>(address), size);
  }
  return item;
}

std::vector<std::string_view> unpack(std::string_view item) {
  std::vector<std::string_view> values;
  std::uint32_t size = 0;
  while (item.size() >= sizeof size) {
    std::memcpy(&size, item.data(), sizeof size);
    item.remove_prefix(sizeof size);
    if (size > item.size()) break;
    values.push_back(item.substr(0, size));
    item.remove_prefix(size);
  }
  return values;
}

}  // namespace cushim::replay
