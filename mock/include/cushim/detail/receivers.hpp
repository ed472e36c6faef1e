// SPDX-License-Identifier: Apache-2.0
// Creates receivers for hooks on entry points that are known only at run time.
#pragma once

#include <cushim/mock/hook.hpp>

namespace cushim::hook {
namespace detail {

// Returns the factory of the entry point's receiver; null if the CUDA headers lack one of its types.
MakeReceiver make_receiver_of(int slot) noexcept;

}  // namespace detail
}  // namespace cushim::hook
