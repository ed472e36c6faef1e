// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handle.hpp"
#include "operation.hpp"

namespace cushim::sim {

struct Context;

struct Event : Object {
  static constexpr Kind kKind = Kind::event;
  Event() : Object(kKind) {}

  Context *context = nullptr;
  unsigned flags = 0;
  Work record;  // the work that it captured last; null if it was never recorded

  bool is_timed() const noexcept { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
};

}  // namespace cushim::sim
