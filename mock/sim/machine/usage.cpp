// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/usage.hpp>

#include "graphs/executable.hpp"
#include "graphs/graph_memory.hpp"
#include "machine/system.hpp"
#include "objects/external_memory.hpp"
#include "objects/external_semaphore.hpp"
#include "objects/texture.hpp"

namespace cushim::sim {
namespace {

const char *words_of(const Allocation &allocation) {
  if (allocation.imported != nullptr) return "memory of other processes";
  if (allocation.pool != nullptr) return "stream-ordered memory";
  if (allocation.mapping != nullptr)
    return allocation.mapping->is_external ? "buffers of external memory" : "mapped memory";
  if (allocation.kind == MemoryKind::device && allocation.is_of_array) return "memory of arrays";
  static constexpr const char *names[] = {"device memory", "pinned memory", "registered memory",
                                          "managed memory"};
  return names[static_cast<std::size_t>(allocation.kind)];
}

void count(std::vector<Usage::Alive> &alive, const char *what, std::size_t bytes) {
  auto entry = alive.begin();
  while (entry != alive.end() && entry->what != what) ++entry;
  if (entry == alive.end()) entry = alive.insert(entry, {what, 0, 0});
  ++entry->count;
  entry->bytes += bytes;
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
  usage.cubins = cubins;
  usage.skipped_kernels = skipped_kernels;
  if (faults != nullptr) usage.faults = faults->injected();
  for (const auto &device : devices) usage.devices.push_back({device->profile.name, device->peak});
  handles.for_each<Context>([&](const Context &context) {
    if (!context.is_primary) count(usage.alive, "contexts", 0);
  });
  handles.for_each<Stream>([&](const Stream &) { count(usage.alive, "streams", 0); });
  handles.for_each<Event>([&](const Event &) { count(usage.alive, "events", 0); });
  handles.for_each<Module>([&](const Module &module) {
    if (module.library == nullptr) count(usage.alive, "modules", 0);
  });
  handles.for_each<Library>([&](const Library &) { count(usage.alive, "libraries", 0); });
  handles.for_each<TextureObject>([&](const TextureObject &) { count(usage.alive, "texture objects", 0); });
  handles.for_each<SurfaceObject>([&](const SurfaceObject &) { count(usage.alive, "surface objects", 0); });
  handles.for_each<TextureReference>([&](const TextureReference &reference) {
    if (reference.module == nullptr) count(usage.alive, "texture references", 0);
  });
  handles.for_each<Graph>([&](const Graph &graph) {
    if (graph.parent == nullptr) count(usage.alive, "graphs", 0);
  });
  handles.for_each<ExecutableGraph>(
      [&](const ExecutableGraph &) { count(usage.alive, "executable graphs", 0); });
  handles.for_each<UserObject>([&](const UserObject &) { count(usage.alive, "user objects", 0); });
  handles.for_each<PhysicalHandle>([&](const PhysicalHandle &handle) {
    const bool is_multicast = handle.memory->multicast != nullptr;
    count(usage.alive, is_multicast ? "multicast objects" : "physical memory",
          is_multicast ? 0 : handle.memory->size());
  });
  handles.for_each<ExternalMemory>(
      [&](const ExternalMemory &external) { count(usage.alive, "external memory", external.size); });
  handles.for_each<ImportedSemaphore>(
      [&](const ImportedSemaphore &) { count(usage.alive, "external semaphores", 0); });
  for_each_pool([&](const Pool &pool) {
    if (!pool.is_default) count(usage.alive, "memory pools", 0);
  });
  memory.for_each([&](const Allocation &allocation) {
    const bool is_unused = allocation.graph_memory != nullptr && !allocation.graph_memory->is_allocated;
    if (!allocation.is_freed && !allocation.is_of_module && !is_unused)
      count(usage.alive, words_of(allocation), allocation.size);
  });
  return usage;
}

}  // namespace cushim::sim
