// SPDX-License-Identifier: Apache-2.0
#include <cushim/detail/receivers.hpp>

namespace cushim::hook {
namespace detail {
namespace {

constexpr MakeReceiver kMake[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) &make_receiver<CUresult parameters>,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace

MakeReceiver make_receiver_of(int slot) noexcept { return kMake[slot]; }

}  // namespace detail
}  // namespace cushim::hook
