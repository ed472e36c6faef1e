// SPDX-License-Identifier: Apache-2.0
#include "tour.hpp"

namespace tour {

using namespace cushim;

void context(Device device) {
  const PrimaryContext primary = PrimaryContext::retain(device);
  expect(PrimaryContext::state(device).is_active, "a retained primary context is active");
  expect(ContextRef::current().handle() == nullptr, "retaining a context does not make it current");
  {
    const ScopedContext scope(primary);
    expect(ContextRef::current() == primary, "a scope makes its context current");
  }
  expect(ContextRef::current().handle() == nullptr, "the end of the scope restores the previous context");
  expect(primary.ref().device() == device, "the driver returns the context's device");
  show("API version", std::to_string(primary.api_version()));

  const std::size_t stack = primary.limit(ContextLimit::stack_size);
  primary.set_limit(ContextLimit::stack_size, stack * 2);
  show("stack size, twice the default", std::to_string(primary.limit(ContextLimit::stack_size)));
  primary.set_limit(ContextLimit::stack_size, stack);
  const PriorityRange priorities = primary.stream_priorities();
  show("stream priorities", std::to_string(priorities.least) + " to " + std::to_string(priorities.greatest));
  show("free memory", std::to_string(primary.memory().free >> 20) + " MiB");

  expect(primary.ref().is_primary(), "the driver's primary context is this one");

  const RestoredContext restored;
  const Context own = Context::create(device, ContextFlags::blocking_sync);
  own.make_current();
  expect(has(own.flags(), ContextFlags::blocking_sync), "a context has the flags that it was created with");
  expect(!own.is_primary(), "a created context is not the primary context");
  expect(ContextRef::current() == own, "make_current() makes it current");
  if (Device::count() > 1 && device.can_access(Device::get(1))) {
    const PrimaryContext peer = PrimaryContext::retain(Device::get(1));
    const PeerAccess access(primary, peer);
    show("peer access to the second device", "enabled for a scope");
  }
}

}  // namespace tour
