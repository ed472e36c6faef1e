// SPDX-License-Identifier: Apache-2.0
// The functions of the frames: 16 for each row of the list, every one a jump with its own number.
#include "receive.hpp"

namespace cushim {
inline namespace v1 {
namespace mock {
namespace {

template <unsigned place, class Signature>
struct At;

template <unsigned place, class... Arguments>
struct At<place, CUresult(Arguments...)> {
  static CUresult CUDAAPI call(Arguments... arguments) { return receive(place, arguments...); }
};

template <int frame>
const Function functions[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  reinterpret_cast<Function>(&At<place(frame, slot), CUresult parameters>::call),
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

const Function *const frames[] = {
    functions<0>,  functions<1>,  functions<2>,  functions<3>,  functions<4>,  functions<5>,
    functions<6>,  functions<7>,  functions<8>,  functions<9>,  functions<10>, functions<11>,
    functions<12>, functions<13>, functions<14>, functions<15>,
};
static_assert(sizeof frames / sizeof *frames == Frame::kCount);

}  // namespace

Function frame_function(int frame, int slot) noexcept { return frames[frame][slot]; }

}  // namespace mock
}  // namespace v1
}  // namespace cushim
