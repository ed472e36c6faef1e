// SPDX-License-Identifier: Apache-2.0
// Installs and removes hooks: decides which entry points of a driver's table go through its driver slot.
#include <cushim/mock/hook.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <stdexcept>

#include <cushim/detail/lookup.hpp>

namespace cushim::hook {
namespace {

// Serializes installing and removing hooks. Not held while a hook runs or is waited for.
std::mutex &mutex() {
  static std::mutex &mutex = *new std::mutex;
  return mutex;
}

// Returns the number of hooks on the driver of this driver slot.
int &hooks_on(mock::DriverSlot &driver_slot) {
  static auto &counts = *new std::map<mock::DriverSlot *, int>;
  return counts[&driver_slot];
}

// Returns the hook stack of an entry point. If there is none, puts a new one in front of the present
// receiver.
std::shared_ptr<mock::HookStack> stack_of(mock::DriverSlot &driver_slot, int slot,
                                          detail::MakeReceiver make) {
  mock::AnyReceiver *const present = driver_slot.receiver(slot);
  if (present != nullptr && present->hooks() != nullptr) return present->hooks()->shared_from_this();
  auto stack = std::make_shared<mock::HookStack>();
  driver_slot.cover(slot, [&](mock::AnyReceiver *below) { return make(driver_slot, slot, below, stack); });
  return stack;
}

// Routes an entry point of the driver's table through the driver slot if it has hooks. Also routes
// cuGetProcAddress while any entry point has hooks, so that no pointer that a program looks up bypasses a
// hook. All other entry points keep the driver's own functions.
void lead(mock::DriverSlot &driver_slot, int slot) {
  mock::AnyReceiver *const receiver = driver_slot.receiver(slot);
  bool is_wanted = receiver != nullptr && receiver->hooks() != nullptr && !receiver->hooks()->is_empty();
  if (std::ranges::find(mock::kLookups, slot) != std::end(mock::kLookups))
    is_wanted |= hooks_on(driver_slot) != 0 && driver_slot.driver().supports(static_cast<Entry>(slot));
  if (!cushim_overlay(&driver_slot.driver(), slot, is_wanted ? driver_slot.function(slot) : nullptr))
    throw std::bad_alloc();
}

void lead_with_lookups(mock::DriverSlot &driver_slot, int slot) {
  lead(driver_slot, slot);
  for (const int lookup : mock::kLookups) lead(driver_slot, lookup);
}

}  // namespace

Hook::Hook(Driver &driver, int slot, std::shared_ptr<mock::AnyLayer> layer, detail::MakeReceiver make) {
  const std::lock_guard lock(mutex());
  mock::DriverSlot &driver_slot = mock::DriverSlot::over(driver);
  installed_ = {driver_slot.is_home() ? nullptr : &driver_slot, slot, stack_of(driver_slot, slot, make),
                std::move(layer)};
  installed_.stack->push(installed_.layer);
  if (driver_slot.is_home()) return;
  ++hooks_on(driver_slot);
  lead_with_lookups(driver_slot, slot);
}

void Hook::remove() {
  if (installed_.layer == nullptr) return;
  if (mock::HookStack::is_inside(*installed_.layer))
    throw std::logic_error(std::string("cushim: a hook on ") + cushim_entry(installed_.slot)->symbol +
                           " cannot be removed by a thread that is inside a call of it");
  const Installed removed = std::exchange(installed_, {});
  {
    const std::lock_guard lock(mutex());
    removed.stack->erase(*removed.layer);
    if (removed.driver_slot != nullptr) {
      --hooks_on(*removed.driver_slot);
      lead_with_lookups(*removed.driver_slot, removed.slot);
    }
  }
  std::atomic<int> &inside = removed.layer->inside;
  for (int count = inside; count != 0; count = inside) inside.wait(count);
}

Hook::~Hook() {
  try {
    remove();
  } catch (const std::logic_error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
}

}  // namespace cushim::hook
