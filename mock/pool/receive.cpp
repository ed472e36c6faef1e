// SPDX-License-Identifier: Apache-2.0
#include "receive.hpp"

#include <algorithm>
#include <cstdint>

#include "inside.hpp"

namespace cushim {
inline namespace v1 {
namespace mock {

template <class... Arguments>
CUresult receive(unsigned place, Arguments... arguments) {
  Frame &frame = made_pool->frames[frame_of(place)];
  const int slot = slot_of(place);
  const Frame::Inside inside(frame, frame_of(place));
  if (!inside) return frame.refuse(slot);
  AnyReceiver *const receiver = frame.receiver(slot);
  if (receiver == nullptr) return frame.call_below(slot, arguments...);
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

// Instantiates them: functions.cpp refers to them by name.
extern const Function every_receive[];
const Function every_receive[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  reinterpret_cast<Function>(ReceiveOf<CUresult parameters>::function),
#include <cushim/entry_points.inc>
    // clang-format on
};

bool is_way_in(const void *start_of_function) {
  static const std::vector<std::uintptr_t> &starts = *new std::vector<std::uintptr_t>([] {
    std::vector<std::uintptr_t> all;
    for (const Function receive : every_receive) all.push_back(reinterpret_cast<std::uintptr_t>(receive));
    for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
      for (int frame = 0; frame < Frame::kCount; ++frame)
        all.push_back(reinterpret_cast<std::uintptr_t>(frame_function(frame, slot)));
    std::ranges::sort(all);
    return all;
  }());
  const auto start = reinterpret_cast<std::uintptr_t>(start_of_function);
  return start != 0 && std::ranges::binary_search(starts, start);
}

}  // namespace mock
}  // namespace v1
}  // namespace cushim
