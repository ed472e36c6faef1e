// SPDX-License-Identifier: Apache-2.0
// Events and memory that one process exports to the other. The bytes of handles are not compared.
#include <fmt/format.h>

#include <algorithm>

#include "walk.hpp"

namespace differential {
namespace {

// Returns the index of a free place for the object's handle; empty if the place is taken or the object has
// one.
template <class Places, class Thing>
std::optional<unsigned> a_free_place(Walk &w, const Places &places, const Thing &thing) {
  const unsigned k = w.dice.below(Handles::places);
  if (places[k].is_taken || thing.exported_to || thing.opened_from) return std::nullopt;
  return k;
}

// Calls get() with a pointer for the handle of an object: to a free place of handles.`name`, or else to a
// local variable. Returns whether the place has the handle.
template <class Places, class Get>
bool export_to(Places &places, const char *name, std::optional<unsigned> place, const Get &get) {
  if (!place) {
    Result<decltype(places[0].handle)> handle("handle");
    get(handle.argument());
    return false;
  }
  auto &to = places[*place];
  to.is_taken = get(Argument{&to.handle, fmt::format("&handles.{}[{}]", name, *place)}) == CUDA_SUCCESS;
  return to.is_taken;
}

// Exports an event only in its own context: in another one the real driver (580.159) crashes.
void export_event(Walk &w) {
  const auto event = w.an_event();
  const auto found = std::ranges::find(w.e, event.value, &Event::handle);
  if (event.value != nullptr && found->owner != w.current()) return;
  const auto place = event.value == nullptr ? std::nullopt : a_free_place(w, w.handles.event, *found);
  if (export_to(w.handles.event, "event", place,
                [&](auto handle) { return CALL(w, cuIpcGetEventHandle, handle, event); }))
    found->exported_to = place;
}

// Creates an exportable event, which would otherwise be rare.
void create_event(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.e.size()));
  if (w.e[k].handle != nullptr) return;
  const Argument event{&w.e[k].handle, fmt::format("&e[{}]", k)};
  const auto flags = number(w.dice.one_of({6U, 7U}));
  if (CALL(w, cuEventCreate, event, flags) != CUDA_SUCCESS) w.e[k].handle = nullptr;
  w.e[k].is_interprocess = true;
}

void open_event(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.e.size())), place = w.dice.below(Handles::places);
  auto &from = w.handles.event[place];
  if (w.e[k].handle != nullptr || !from.is_taken) return;
  if (CALL(w, cuIpcOpenEventHandle, Argument{&w.e[k].handle, fmt::format("&e[{}]", k)},
           Argument{from.handle, fmt::format("handles.event[{}]", place)}) != CUDA_SUCCESS) {
    w.e[k] = {};
    return;
  }
  w.e[k].is_interprocess = true;
  w.e[k].opened_from = place;
  ++from.opened;
}

void export_memory(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  w.finish();
  const auto place = a_free_place(w, w.handles.memory, w.b[k]);
  const auto address = w.address_in(k, place ? 0 : w.dice.one_of<std::size_t>({0, 256}));
  if (!export_to(w.handles.memory, "memory", place,
                 [&](auto handle) { return CALL(w, cuIpcGetMemHandle, handle, address); }))
    return;
  w.handles.memory[*place].bytes = w.b[k].bytes;
  w.b[k].exported_to = place;
}

void open_memory(Walk &w) {
  const unsigned k = w.dice.below(Walk::buffers), place = w.dice.below(Handles::places);
  auto &from = w.handles.memory[place];
  if (w.b[k].address != 0 || !from.is_taken) return;
  const auto flags = number(w.dice.one_of({1U, 1U, 1U, 1U, 0U, 2U}));
  if (CALL(w, cuIpcOpenMemHandle, Argument{&w.b[k].address, fmt::format("&b[{}]", k)},
           Argument{from.handle, fmt::format("handles.memory[{}]", place)}, flags) != CUDA_SUCCESS) {
    w.b[k] = {};
    return;
  }
  w.b[k].bytes = from.bytes;
  w.b[k].opened_from = place;
  ++from.opened;
  w.did(fmt::format("sizes[{}] = {}", k, from.bytes));
}

void close_memory(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  w.end_buffer(k, [&](auto address) { return CALL(w, cuIpcCloseMemHandle, address); });
}

// Opens memory that its process has freed, which succeeds while its block of 2 MiB lives, and closes it.
void open_freed_memory(Walk &w) {
  const unsigned place = w.dice.below(Handles::places);
  const auto &from = w.handles.memory[place];
  if (from.is_taken || !from.is_stale) return;
  w.finish();
  CUdeviceptr address = 0;
  if (CALL(w, cuIpcOpenMemHandle, Argument{&address, "&address"},
           Argument{from.handle, fmt::format("handles.memory[{}]", place)}, number(1)) != CUDA_SUCCESS)
    return;
  Result<std::size_t> size("size");
  Result<CUdeviceptr> base("base");
  CALL(w, cuMemGetAddressRange, base.argument(), size.argument(), Argument{address, "address"});
  w.also_number(size);
  for (Opened &kept : w.more->opened)
    if (kept.address == 0 && w.dice.once_in(2)) {
      kept = {address, w.current()};
      return;
    }
  CALL(w, cuIpcCloseMemHandle, Argument{address, "address"});
}

// Frees memory that was exported, which would otherwise be rare.
void free_shared(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers || !w.b[k].exported_to || w.is_open_elsewhere(w.b[k])) return;
  w.finish();
  if (CALL(w, cuMemFree, w.address_in(k, 0)) == CUDA_SUCCESS) w.has_ended(w.b[k]);
}

void close_freed_memory(Walk &w) {
  const unsigned k = w.dice.below(2);
  Opened &kept = w.more->opened[k];
  if (kept.address == 0) return;
  w.finish();
  if (CALL(w, cuIpcCloseMemHandle, Argument{kept.address, fmt::format("opened[{}]", k)}) == CUDA_SUCCESS)
    kept = {};
}

}  // namespace

Choices block_choices() {
  return waiting({{90, open_freed_memory}, {12, close_freed_memory}, {40, free_shared}});
}

Choices ipc_choices() {
  return Choices({
      {12, create_event},
      {16, export_event},
      {24, open_event},
      waiting(12, export_memory),
      waiting(24, open_memory),
      waiting(4, close_memory),
  });
}

}  // namespace differential
