// SPDX-License-Identifier: Apache-2.0
// The values of cuPointerGetAttributes and cuMemRangeGetAttributes, which write to an array of pointers. An
// item has for each value its size in 4 bytes, and its bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::replay {

// Returns the size of an attribute of cuPointerGetAttribute.
std::uint64_t size_of_pointer_attribute(std::uint64_t attribute);

struct AttributeValue {
  std::uint64_t attribute = 0;  // CUpointer_attribute or CUmem_range_attribute
  std::uint64_t address = 0;    // where the call writes it
  std::uint64_t size = 0;
};

// Returns whether the entry point with this base name is cuPointerGetAttributes or cuMemRangeGetAttributes.
bool has_attribute_values(std::string_view base);

// Returns the number of values of a call.
std::uint64_t count_of_attribute_values(std::string_view base, std::span<const std::uint64_t> words);

// Returns the values of a call that succeeded. Its arrays must exist.
std::vector<AttributeValue> attribute_values(std::string_view base, std::span<const std::uint64_t> words);

// Returns the bytes of an item.
std::string pack(const std::vector<AttributeValue> &values);
// Returns the bytes of each value. Ends where the item is damaged.
std::vector<std::string_view> unpack(std::string_view item);

}  // namespace cushim::replay
