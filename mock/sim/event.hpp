// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handle.hpp"
#include "operation.hpp"
#include "shared_event.hpp"

namespace cushim::sim {

struct Context;

struct Event final : Object {
  static constexpr Kind kKind = Kind::event;
  Event() noexcept : Object(kKind) {}

  Context *context = nullptr;
  unsigned flags = 0;
  Work record;  // the work that it captured last; null if it was never recorded

  // Of one that was exported or opened. Then record may be out of date: Call::work_of() knows.
  std::shared_ptr<SharedEvent> shared;
  std::uint64_t record_number = 0;  // which record it is, of all that its processes made

  bool is_timed() const noexcept { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
  bool is_interprocess() const noexcept { return (flags & CU_EVENT_INTERPROCESS) != 0; }
};

}  // namespace cushim::sim
