// SPDX-License-Identifier: Apache-2.0
// Green contexts, and the parts of a device that they are made of.
#pragma once

#include "objects/awaited_events.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

struct Context;
struct Device;

// A range of a device's multiprocessors.
struct Multiprocessors {
  Device *device = nullptr;
  unsigned first = 0;
  unsigned count = 0;
};

// A descriptor of resources (CUdevResourceDesc). The driver has no call that destroys one.
struct ResourceDescriptor : ObjectOf<Kind::resource_descriptor> {
  Multiprocessors multiprocessors;
};

// A green context (CUgreenCtx). Its handle is also the handle of the context that cuCtxFromGreenCtx returns.
// Its objects belong to the primary context of the device, except streams, which know it by Stream::green.
struct GreenContext : ObjectOf<Kind::green_context> {
  Context *primary = nullptr;  // retained
  unsigned long id = 0;
  Multiprocessors multiprocessors;
  AwaitedEvents awaited;  // by its streams
};

}  // namespace cushim::sim
