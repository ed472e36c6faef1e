// SPDX-License-Identifier: Apache-2.0
#include "driver_receivers.hpp"

#include <cushim/mock/text.hpp>

#include <array>
#include <cstring>

#include <cushim/detail/lookup.hpp>
#include "recording_format.hpp"

namespace cushim::replay {
namespace {

constexpr std::size_t words_for(std::size_t bytes) { return (bytes + 7) / 8; }

template <class Signature>
class AnsweringReceiver;

template <class... Arguments>
class AnsweringReceiver<CUresult(Arguments...)> final : public mock::Receiver<CUresult(Arguments...)> {
 public:
  AnsweringReceiver(Answers &answers, mock::DriverSlot &driver_slot, int slot)
      : answers_(answers), driver_slot_(driver_slot), slot_(slot) {}

  CUresult receive(Arguments... arguments) override {
    if constexpr (requires { mock::look_up(driver_slot_, arguments...); })
      return mock::look_up(driver_slot_, arguments...);
    std::array<std::uint64_t, (0 + ... + words_for(sizeof(Arguments)))> words{};
    std::uint64_t *at = words.data();
    static_cast<void>(at);
    ((std::memcpy(at, &arguments, sizeof arguments), at += words_for(sizeof arguments)), ...);
    return answers_.answer({slot_, words, [&] {
                              const std::array<mock::Value, sizeof...(Arguments)> values{
                                  mock::Value(arguments)...};
                              return mock::Call{static_cast<Entry>(slot_), values}.to_text();
                            }});
  }

 private:
  Answers &answers_;
  mock::DriverSlot &driver_slot_;
  const int slot_;
};

template <class Signature>
mock::AnyReceiver *make(Answers &answers, mock::DriverSlot &driver_slot, int slot) {
  return new AnsweringReceiver<Signature>(answers, driver_slot, slot);
}

constexpr mock::AnyReceiver *(*kMake[])(Answers &answers, mock::DriverSlot &driver_slot, int slot) = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) &make<CUresult parameters>,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace

std::unique_ptr<mock::AnyReceiver> make_answering_receiver(Answers &answers, mock::DriverSlot &driver_slot,
                                                           int slot) {
  return std::unique_ptr<mock::AnyReceiver>(kMake[slot](answers, driver_slot, slot));
}

}  // namespace cushim::replay
