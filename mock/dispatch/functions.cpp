// SPDX-License-Identifier: Apache-2.0
// The functions of the driver slots: 16 for each entry point, each a jump with its own index.
#include "receive.hpp"

namespace cushim::mock {
namespace {

template <unsigned packed_index, class Signature>
struct At;

template <unsigned packed_index, class... Arguments>
struct At<packed_index, CUresult(Arguments...)> {
  static CUresult CUDAAPI call(Arguments... arguments) { return receive(packed_index, arguments...); }
};

template <int driver_slot>
const Function functions[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  reinterpret_cast<Function>(&At<packed_index(driver_slot, slot), CUresult parameters>::call),
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

const Function *const driver_slots[] = {
    functions<0>,  functions<1>,  functions<2>,  functions<3>,  functions<4>,  functions<5>,
    functions<6>,  functions<7>,  functions<8>,  functions<9>,  functions<10>, functions<11>,
    functions<12>, functions<13>, functions<14>, functions<15>,
};
static_assert(sizeof driver_slots / sizeof *driver_slots == DriverSlot::kCount);

}  // namespace

Function function_of(int driver_slot, int slot) noexcept { return driver_slots[driver_slot][slot]; }

}  // namespace cushim::mock
