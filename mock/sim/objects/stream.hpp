// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "engine/operation.hpp"
#include "graphs/capture.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

struct Context;

struct Stream : ObjectOf<Kind::stream> {
  Context *context = nullptr;
  std::size_t index = 0;             // in Context::streams, if the program created it
  std::weak_ptr<const void> thread;  // of a per-thread stream; expires when the thread ends
  unsigned long id = 0;
  unsigned flags = 0;
  int priority = 0;
  std::uintptr_t green = 0;  // the handle of the green context that it was created in; 0: none
  bool is_legacy = false;
  std::map<int, CUstreamAttrValue> attributes;
  Work tail;                              // the last work added to the stream
  std::unique_ptr<CapturePoint> capture;  // null: the stream does not capture

  // Returns whether the stream and the legacy stream wait for each other.
  bool is_blocking() const noexcept { return !is_legacy && (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

}  // namespace cushim::sim
