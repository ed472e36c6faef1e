// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/usage.hpp>

#include "machine/system.hpp"

namespace cushim::sim {
namespace {

const char *words_of(const Allocation &allocation) {
  if (allocation.pool != nullptr) return "stream-ordered memory";
  switch (allocation.kind) {
    case MemoryKind::device:
      if (allocation.is_of_array) return "memory of arrays";
      if (allocation.imported != nullptr) return "memory of other processes";
      if (allocation.mapping != nullptr) return "mapped memory";
      return "device memory";
    case MemoryKind::pinned:
      return "pinned memory";
    case MemoryKind::registered:
      return "registered memory";
    case MemoryKind::managed:
      return "managed memory";
  }
  return "memory";
}

void count(std::vector<Usage::Alive> &alive, const char *what, std::size_t bytes) {
  auto place = alive.begin();
  while (place != alive.end() && place->what != what) ++place;
  if (place == alive.end()) place = alive.insert(place, {what, 0, 0});
  ++place->count;
  place->bytes += bytes;
}

}  // namespace

Usage System::usage() {
  const std::lock_guard lock(mutex);
  Usage usage;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot) {
    const auto index = static_cast<std::size_t>(slot);
    const unsigned long calls = this->calls[index] + not_admitted[index].load(std::memory_order_relaxed);
    if (calls != 0) usage.calls.emplace(cushim_entry(slot)->symbol, calls);
  }
  for (const int slot : not_implemented) usage.not_implemented.emplace_back(cushim_entry(slot)->symbol);
  usage.not_found.assign(not_found.begin(), not_found.end());
  usage.misuses = misuses;
  if (faults != nullptr) usage.faults = faults->injected();
  for (const auto &device : devices) usage.devices.push_back({device->profile.name, device->peak});
  handles.for_each<Context>([&](const Context &context) {
    if (!context.is_primary) count(usage.alive, "contexts", 0);
  });
  handles.for_each<Stream>([&](const Stream &) { count(usage.alive, "streams", 0); });
  handles.for_each<Event>([&](const Event &) { count(usage.alive, "events", 0); });
  handles.for_each<PhysicalHandle>(
      [&](const PhysicalHandle &handle) { count(usage.alive, "physical memory", handle.memory->size()); });
  for (const Pool *pool : live_pools)
    if (!pool->is_default) count(usage.alive, "memory pools", 0);
  memory.for_each([&](const Allocation &allocation) {
    if (!allocation.is_freed) count(usage.alive, words_of(allocation), allocation.size);
  });
  return usage;
}

}  // namespace cushim::sim
