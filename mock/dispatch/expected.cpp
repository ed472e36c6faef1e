// SPDX-License-Identifier: Apache-2.0
// Dispatches each call to the expectations that the test has set, for every type of entry point.
#include <cushim/mock/expected.hpp>

#include <array>

#include <cushim/detail/lookup.hpp>

namespace cushim::mock {
namespace {

template <class Signature>
class Row;

template <class... Arguments>
class Row<CUresult(Arguments...)> final : public Receiver<CUresult(Arguments...)> {
 public:
  Row(ExpectedCalls &rows, int slot) noexcept : rows_(rows), slot_(slot) {}

  CUresult receive(Arguments... arguments) override {
    if (AnyExpected *const expected = rows_.expected(slot_)) {
      const auto answer = static_cast<Expected<CUresult(Arguments...)> *>(expected)->answer(arguments...);
      if (answer) return *answer;
    }
    if constexpr (requires { look_up(rows_.driver_slot(), arguments...); })
      return look_up(rows_.driver_slot(), arguments...);
    if (const auto allowed = rows_.allowed()) return *allowed;
    const std::array<Value, sizeof...(Arguments)> values{Value(arguments)...};
    return rows_.unset({static_cast<Entry>(slot_), values});
  }

 private:
  ExpectedCalls &rows_;
  const int slot_;
};

using Make = std::unique_ptr<AnyReceiver> (*)(ExpectedCalls &, int slot);

template <class Signature>
std::unique_ptr<AnyReceiver> make(ExpectedCalls &rows, int slot) {
  return std::unique_ptr<AnyReceiver>(new Row<Signature>(rows, slot));
}

constexpr Make kRows[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) &make<CUresult parameters>,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace

std::unique_ptr<AnyReceiver> ExpectedCalls::make_receiver(int slot) { return kRows[slot](*this, slot); }

}  // namespace cushim::mock
