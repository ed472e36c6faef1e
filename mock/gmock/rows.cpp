// SPDX-License-Identifier: Apache-2.0
// What a mock driver does with a call, for every type of entry: hands it to what the test has set, or fails.
#include <array>

#include "../pool/lookup.hpp"
#include "state.hpp"

namespace cushim {
inline namespace v1 {
namespace mock {
namespace {

template <class Signature>
class Row;

template <class... Arguments>
class Row<CUresult(Arguments...)> final : public Receiver<CUresult(Arguments...)> {
 public:
  Row(MockDriver::State &state, int slot) noexcept : state_(state), slot_(slot) {}

  CUresult receive(Arguments... arguments) override {
    if (AnyExpected *const expected = state_.expected(slot_)) {
      const auto answer = static_cast<Expected<CUresult(Arguments...)> *>(expected)->answer(arguments...);
      if (answer) return *answer;
    }
    if constexpr (requires { look_up(state_.frame(), arguments...); })
      return look_up(state_.frame(), arguments...);
    if (const auto allowed = state_.allowed()) return *allowed;
    const std::array<Value, sizeof...(Arguments)> values{Value(arguments)...};
    return state_.fail({static_cast<Entry>(slot_), values});
  }

 private:
  MockDriver::State &state_;
  const int slot_;
};

using Make = std::unique_ptr<AnyReceiver> (*)(MockDriver::State &, int slot);

template <class Signature>
std::unique_ptr<AnyReceiver> make(MockDriver::State &state, int slot) {
  return std::make_unique<Row<Signature>>(state, slot);
}

constexpr Make kRows[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) &make<CUresult parameters>,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace

std::unique_ptr<AnyReceiver> MockDriver::State::make_receiver(int slot) { return kRows[slot](*this, slot); }

}  // namespace mock
}  // namespace v1
}  // namespace cushim
