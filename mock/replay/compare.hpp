// SPDX-License-Identifier: Apache-2.0
// Compares values that a call wrote, by their type.
#pragma once

#include <cushim/replay/recording.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mapping.hpp"
#include "type.hpp"

namespace cushim::replay {

struct Unequal {
  std::string recorded, replayed;
};

// Returns whether a name is that of a number which differs from run to run.
bool is_id(std::string_view name);

// Compares two numbers of the type. `other` is the replayed or the given number.
std::optional<Unequal> compare_numbers(const trace::Type &type, std::uint64_t recorded, std::uint64_t other);

// Compares a recorded and a replayed value. `creates` says that handles in it are of new objects. Adds
// handles to the mapping that it lacks.
std::optional<Unequal> compare(const trace::Type &type, const char *recorded, const char *replayed,
                               std::string_view name, bool creates, Mapping &mapping);

// Compares the value of an attribute of cuPointerGetAttribute.
std::optional<Unequal> compare_pointer_attribute(std::uint64_t attribute, std::string_view recorded,
                                                 std::string_view replayed, Mapping &mapping);

// Compares memory with the bytes or the hash that an item has of it.
std::optional<Unequal> compare_data(const Item &item, std::string_view replayed);

}  // namespace cushim::replay
