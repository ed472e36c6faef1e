// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "mapping.hpp"

namespace cushim::replay {

// Replaces the handles in unions, which no table describes: arrays of operands of a batch of copies, of
// textures, of surfaces and of mappings, and events and nodes of attributes. `recorded` is the object as it
// was recorded. Returns the reason if something in it is unknown.
std::optional<std::string> replace_unions(const trace::Type &type, const char *recorded, char *object,
                                          const Mapping &mapping);

// Sets the members of a copy that its memory types do not name to 0. A program may leave anything there.
void clear_unused_operands(const trace::Type &type, char *object);

}  // namespace cushim::replay
