// SPDX-License-Identifier: Apache-2.0
#include "receive.hpp"

#include <algorithm>
#include <cstdint>

#include "inside.hpp"

namespace cushim::mock {

template <class... Arguments>
CUresult receive(unsigned packed_index, Arguments... arguments) {
  DriverSlot &driver_slot = made_pool->driver_slots[driver_slot_of(packed_index)];
  const int slot = slot_of(packed_index);
  const DriverSlot::Inside inside(driver_slot, driver_slot_of(packed_index));
  if (!inside) return driver_slot.refuse(slot);
  AnyReceiver *const receiver = driver_slot.receiver(slot);
  if (receiver == nullptr) return driver_slot.call_below(slot, arguments...);
  return static_cast<Receiver<CUresult(Arguments...)> *>(receiver)->receive(arguments...);
}

namespace {

template <class Signature>
struct ReceiveOf;
template <class... Arguments>
struct ReceiveOf<CUresult(Arguments...)> {
  static constexpr CUresult (*function)(unsigned, Arguments...) = &receive<Arguments...>;
};

}  // namespace

// Instantiates receive(): functions.cpp refers to the instances by name.
extern const Function every_receive[];
const Function every_receive[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  reinterpret_cast<Function>(ReceiveOf<CUresult parameters>::function),
#include <cushim/entry_points.inc>
    // clang-format on
};

bool is_entry_function(const void *start_of_function) {
  static const std::vector<std::uintptr_t> &starts = *new std::vector<std::uintptr_t>([] {
    std::vector<std::uintptr_t> all;
    for (const Function receive : every_receive) all.push_back(reinterpret_cast<std::uintptr_t>(receive));
    for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
      for (int driver_slot = 0; driver_slot < DriverSlot::kCount; ++driver_slot)
        all.push_back(reinterpret_cast<std::uintptr_t>(function_of(driver_slot, slot)));
    std::ranges::sort(all);
    return all;
  }());
  const auto start = reinterpret_cast<std::uintptr_t>(start_of_function);
  return start != 0 && std::ranges::binary_search(starts, start);
}

}  // namespace cushim::mock
