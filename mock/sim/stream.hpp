// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "handle.hpp"
#include "operation.hpp"

namespace cushim::sim {

struct Context;

struct Stream : Object {
  static constexpr Kind kKind = Kind::stream;
  Stream() : Object(kKind) {}

  Context *context = nullptr;
  unsigned long id = 0;
  unsigned flags = 0;
  int priority = 0;
  bool is_legacy = false;
  std::map<int, CUstreamAttrValue> attributes;
  Work tail;  // the last that was put into it

  // Whether the legacy stream waits for it and it for the legacy stream.
  bool is_blocking() const noexcept { return !is_legacy && (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

}  // namespace cushim::sim
