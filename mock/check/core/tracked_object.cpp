// SPDX-License-Identifier: Apache-2.0
#include "core/tracked_object.hpp"

#include "core/lifetime_effect.hpp"
#include "core/watch.hpp"

namespace cushim::check {

const char *TrackedObject::noun() const {
  if (has_integer_handle(kind)) return mock::object_name(kind);
  const LifetimeEffect &effect = lifetime_effect_of(made_by);
  return effect.memory != nullptr ? effect.memory : parameters_of(made_by)[effect.subject].noun;
}

std::string TrackedObject::to_text() const {
  const std::string text = mock::handle_text(noun(), reinterpret_cast<const void *>(value));
  return bytes == 0 ? text : text + " of " + std::to_string(bytes) + " bytes";
}

}  // namespace cushim::check
