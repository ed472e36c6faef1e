// SPDX-License-Identifier: Apache-2.0
#include "thing.hpp"

#include "deed.hpp"
#include "watch.hpp"

namespace cushim::check {

const char *Thing::noun() const {
  const Deed &deed = deed_of(made_by);
  return deed.memory != nullptr ? deed.memory : parameters_of(made_by)[deed.subject].noun;
}

std::string Thing::in_words() const {
  const std::string words = mock::handle_in_words(noun(), reinterpret_cast<const void *>(value));
  return bytes == 0 ? words : words + " of " + std::to_string(bytes) + " bytes";
}

}  // namespace cushim::check
