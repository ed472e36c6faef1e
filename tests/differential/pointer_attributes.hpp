// SPDX-License-Identifier: Apache-2.0
// Attributes of pointers in walks about memory.
#pragma once

#include <optional>

#include "walk.hpp"

namespace differential {

struct PointerAttribute {
  CUpointer_attribute which{};
  std::uint64_t value = 0;  // the first word
};
// Reads an attribute of an address, chosen at random. Returns nullopt if the driver returns an error, or if
// the attribute is not simulated.
std::optional<PointerAttribute> an_attribute(Walk &w, const Argument<CUdeviceptr> &address);
// Adds the value of an attribute to the answer: the name of a context or an address, else the number.
void also_attribute(Walk &w, const PointerAttribute &attribute);

}  // namespace differential
