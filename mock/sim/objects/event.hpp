// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/operation.hpp"
#include "graphs/capture.hpp"
#include "ipc/shared_event.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

struct Context;

struct Event final : ObjectOf<Kind::event> {
  Context *context = nullptr;
  unsigned flags = 0;
  Work record;  // the work captured by the last cuEventRecord; null if never recorded
  std::unique_ptr<CapturePoint> captured;  // not null if the last record was in a stream capture

  // Set for an event that was exported or opened. `record` may then be out of date; use Call::work_of().
  std::shared_ptr<SharedEvent> shared;
  std::uint64_t record_number = 0;  // of `record`, counted over all processes that share the event

  bool is_timed() const noexcept { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
  bool is_blocking_sync() const noexcept { return (flags & CU_EVENT_BLOCKING_SYNC) != 0; }
  bool is_interprocess() const noexcept { return (flags & CU_EVENT_INTERPROCESS) != 0; }
};

}  // namespace cushim::sim
