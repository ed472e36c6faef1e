// SPDX-License-Identifier: Apache-2.0
// Putting hooks on and taking them off: which entries of a driver's table lead through its frame.
#include <cushim/mock/hook.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <stdexcept>

#include "../pool/lookup.hpp"

namespace cushim {
inline namespace v1 {
namespace hook {
namespace {

// Over all putting on and taking off; not held while a hook runs or is waited for.
std::mutex &mutex() {
  static std::mutex &mutex = *new std::mutex;
  return mutex;
}

// How many hooks are on the driver behind this frame.
int &hooks_on(mock::Frame &frame) {
  static auto &counts = *new std::map<mock::Frame *, int>;
  return counts[&frame];
}

// The stack of an entry; a new one, before whatever answers the entry now, if it has none.
std::shared_ptr<mock::HookStack> stack_of(mock::Frame &frame, int slot, detail::MakeReceiver make) {
  mock::AnyReceiver *const present = frame.receiver(slot);
  if (present != nullptr && present->hooks() != nullptr) return present->hooks()->shared_from_this();
  auto stack = std::make_shared<mock::HookStack>();
  frame.cover(slot, [&](mock::AnyReceiver *below) { return make(frame, slot, below, stack); });
  return stack;
}

// Leads the entries of the driver's table that need it through the frame: those with hooks, and, while
// there is a hook on any, the lookups, so that no pointer that is looked up goes past one. The others
// hold the driver's own functions.
void lead(mock::Frame &frame, int slot) {
  mock::AnyReceiver *const receiver = frame.receiver(slot);
  bool is_wanted = receiver != nullptr && receiver->hooks() != nullptr && !receiver->hooks()->is_empty();
  if (std::ranges::find(mock::kLookups, slot) != std::end(mock::kLookups))
    is_wanted |= hooks_on(frame) != 0 && frame.driver().supports(static_cast<Entry>(slot));
  if (!cushim_overlay(&frame.driver(), slot, is_wanted ? frame.function(slot) : nullptr))
    throw std::bad_alloc();
}

void lead_with_lookups(mock::Frame &frame, int slot) {
  lead(frame, slot);
  for (const int lookup : mock::kLookups) lead(frame, lookup);
}

}  // namespace

Hook::Hook(Driver &driver, int slot, std::shared_ptr<mock::AnyLayer> layer, detail::MakeReceiver make) {
  const std::lock_guard lock(mutex());
  mock::Frame &frame = mock::Frame::over(driver);
  installed_ = {frame.is_home() ? nullptr : &frame, slot, stack_of(frame, slot, make), std::move(layer)};
  installed_.stack->push(installed_.layer);
  if (frame.is_home()) return;
  ++hooks_on(frame);
  lead_with_lookups(frame, slot);
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
    if (removed.frame != nullptr) {
      --hooks_on(*removed.frame);
      lead_with_lookups(*removed.frame, removed.slot);
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

}  // namespace hook
}  // namespace v1
}  // namespace cushim
